// Which step is shown: previous, next, a jump to any, train or eval.

import { createMemo, For, Show, type JSX } from 'solid-js';
import type { StepRef } from '../../api';
import { IconButton, Segmented } from '../../kit';
import { navigateKeeping } from '../../state/router';
import { run } from '../../state/run';
import { nearestStep, stepAfter, stepBefore } from './stats';

const go = (id: number, evaluation: boolean): void =>
  navigateKeeping({ view: 'rollouts', step: { id, evaluation } });

export function StepNav(props: { readonly step: StepRef }): JSX.Element {
  const ids = createMemo(() => (props.step.evaluation ? run.ids().eval : run.ids().train));
  const previous = (): number | undefined => stepBefore(ids(), props.step.id);
  const next = (): number | undefined => stepAfter(ids(), props.step.id);
  const newest = (): number | undefined => ids().at(-1);
  const turn = (kind: 'train' | 'eval'): void => {
    // The same step where it has one, else the nearest.
    const near = nearestStep(run.ids()[kind], props.step.id);
    if (near !== undefined) go(near, kind === 'eval');
  };
  return (
    <nav class="r-nav" aria-label="Step">
      <IconButton
        label="Previous step"
        hint="["
        disabled={previous() === undefined}
        onClick={() => go(previous() ?? 0, props.step.evaluation)}
      >
        ‹
      </IconButton>
      <label class="k-field">
        <span class="r-nav-word">{props.step.evaluation ? 'Eval step' : 'Step'}</span>
        <input
          class="k-input r-jump"
          list="r-steps"
          inputMode="numeric"
          aria-label="Jump to step"
          data-tip="Type a step and press Enter"
          value={props.step.id}
          onFocus={(event) => event.currentTarget.select()}
          onChange={(event) => {
            const id = Number(event.currentTarget.value);
            if (/^-?\d{1,15}$/.test(event.currentTarget.value.trim())) go(id, props.step.evaluation);
            else event.currentTarget.value = String(props.step.id);
          }}
        />
        <datalist id="r-steps">
          <For each={ids().slice(-500)}>{(id) => <option value={id} />}</For>
        </datalist>
      </label>
      <IconButton
        label="Next step"
        hint="]"
        disabled={next() === undefined}
        onClick={() => go(next() ?? 0, props.step.evaluation)}
      >
        ›
      </IconButton>
      <Show when={newest() !== undefined && newest() !== props.step.id}>
        <IconButton label="Newest step" onClick={() => go(newest() ?? 0, props.step.evaluation)}>
          »
        </IconButton>
      </Show>
      <Segmented
        label="Kind of step"
        value={props.step.evaluation ? 'eval' : 'train'}
        options={[
          { value: 'train', label: 'Train', tip: `${run.ids().train.length} train steps can be read` },
          { value: 'eval', label: 'Eval', tip: `${run.ids().eval.length} evaluations can be read` },
        ]}
        onChange={turn}
      />
    </nav>
  );
}
