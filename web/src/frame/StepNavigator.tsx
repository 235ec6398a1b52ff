// Previous, next, jump, train or eval: everywhere, because every question ends at a step.

import { createMemo, createSignal, For, onCleanup, Show, type JSX } from 'solid-js';
import type { StepRef } from '../api';
import { Icon, IconButton, Segmented } from '../kit';
import { useKeys } from '../state/keys';
import { href, navigate, navigateKeeping, params, route } from '../state/router';
import { run } from '../state/run';
import { around, nearest, neighbour } from './steps';

/** Of a long run, those around the one that is typed. */
const MOST_LISTED = 60;

const same = (a: StepRef | undefined, b: StepRef | undefined): boolean =>
  a?.id === b?.id && a?.evaluation === b?.evaluation;

/** The step of the address, else the newest one. */
export const currentStep = (): StepRef | undefined => {
  const here = route();
  return ('step' in here ? here.step : undefined) ?? run.newestStep();
};

/** Goes to a step; within Rollouts with what is set there. */
export function goToStep(step: StepRef): void {
  if (route().view === 'rollouts') navigateKeeping({ view: 'rollouts', step });
  else navigate({ view: 'rollouts', step });
}

export function StepNavigator(): JSX.Element {
  const [open, setOpen] = createSignal(false);
  const step = createMemo(currentStep, undefined, { equals: same });
  const beside = (by: 1 | -1): StepRef | undefined => {
    const from = step();
    return from && neighbour(run.ids(), from, by);
  };
  const go = (by: 1 | -1): void => {
    const next = beside(by);
    if (next) goToStep(next);
  };
  useKeys('Steps', [
    { keys: ['['], what: 'previous step', run: () => go(-1) },
    { keys: [']'], what: 'next step', run: () => go(1) },
    { keys: ['s'], what: 'jump to a step', run: () => setOpen(true) },
  ]);
  let place: HTMLDivElement | undefined;
  const outside = (event: Event): void => {
    if (event.target instanceof Node && place?.contains(event.target) !== true) setOpen(false);
  };
  document.addEventListener('pointerdown', outside);
  document.addEventListener('focusin', outside);
  onCleanup(() => {
    document.removeEventListener('pointerdown', outside);
    document.removeEventListener('focusin', outside);
  });

  return (
    <Show when={step()}>
      {(current) => (
        <div class="f-steps" ref={(element) => (place = element)}>
          <IconButton label="Previous step" hint="[" disabled={!beside(-1)} onClick={() => go(-1)}>
            <Icon name="left" />
          </IconButton>
          <button
            type="button"
            class="f-step"
            aria-haspopup="dialog"
            aria-expanded={open()}
            data-tip={open() ? undefined : 'Jump to a step (s)'}
            onClick={() => setOpen(!open())}
          >
            <span class="f-step-kind">{current().evaluation ? 'eval step' : 'step'}</span> {current().id}
          </button>
          <IconButton label="Next step" hint="]" disabled={!beside(1)} onClick={() => go(1)}>
            <Icon name="right" />
          </IconButton>
          <Show when={open()}>
            <StepList current={current()} onClose={() => setOpen(false)} />
          </Show>
        </div>
      )}
    </Show>
  );
}

function StepList(props: { readonly current: StepRef; readonly onClose: () => void }): JSX.Element {
  const [typed, setTyped] = createSignal('');
  // What was open when the list came; then the reader's choice.
  // eslint-disable-next-line solid/reactivity
  const [evaluation, setEvaluation] = createSignal(props.current.evaluation);
  const wanted = (): number | undefined => (/^-?\d+$/.test(typed()) ? Number(typed()) : undefined);
  const list = (): readonly number[] => (evaluation() ? run.ids().eval : run.ids().train);
  const shown = createMemo(() =>
    around(
      list(),
      wanted() ?? (same(props.current, run.newestStep()) ? undefined : props.current.id),
      MOST_LISTED,
    ),
  );
  const jump = (): void => {
    const id = wanted();
    const step = id === undefined ? undefined : nearest(run.ids(), id, evaluation());
    if (!step) return;
    goToStep(step);
    props.onClose();
  };
  const linkTo = (id: number): string =>
    href(
      { view: 'rollouts', step: { id, evaluation: evaluation() } },
      route().view === 'rollouts' ? params() : {},
    );
  return (
    <div
      class="f-step-list"
      role="dialog"
      aria-label="Jump to a step"
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        props.onClose();
      }}
    >
      <div class="f-step-row">
        <input
          class="k-input"
          inputmode="numeric"
          aria-label="Step"
          placeholder={`step, ${list()[0] ?? ''} to ${list().at(-1) ?? ''}`}
          ref={(element) => queueMicrotask(() => element.focus())}
          value={typed()}
          onInput={(event) => setTyped(event.currentTarget.value.trim())}
          onKeyDown={(event) => event.key === 'Enter' && jump()}
        />
        <Segmented
          label="Kind of step"
          value={evaluation() ? 'eval' : 'train'}
          options={[
            { value: 'train', label: `train ${run.ids().train.length}` },
            { value: 'eval', label: `eval ${run.ids().eval.length}` },
          ]}
          onChange={(kind) => setEvaluation(kind === 'eval')}
        />
      </div>
      <ul class="f-step-ids" aria-label="Steps">
        <For each={shown()} fallback={<li class="k-muted">none</li>}>
          {(id) => (
            <li>
              <a
                href={linkTo(id)}
                aria-current={same(props.current, { id, evaluation: evaluation() }) ? 'true' : undefined}
                onClick={() => props.onClose()}
              >
                {id}
              </a>
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}
