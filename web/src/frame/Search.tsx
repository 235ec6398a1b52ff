// `/`: goes to a metric, a step, a sample or a view by its name.

import { createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { Dialog } from '../kit';
import { categoryOf } from '../state/metric-key';
import { href } from '../state/router';
import { run } from '../state/run';
import { findings } from './Alarms';
import { findAll, type Place } from './places';
import { currentStep } from './StepNavigator';
import { nearest } from './steps';

const MOST_SHOWN = 14;

const VIEWS: readonly Place[] = [
  { title: 'Metrics', kind: 'view', href: href({ view: 'metrics' }) },
  { title: 'Compute utilization', kind: 'view', href: href({ view: 'compute' }) },
  { title: 'Rollouts of the newest step', kind: 'view', href: href({ view: 'rollouts' }) },
];

/** A number is a step or a sample of the step that is shown. */
function byNumber(text: string): readonly Place[] {
  const found = /^(?:step|sample|eval)?\s*#?(-?\d{1,15})$/i.exec(text.trim());
  if (!found) return [];
  const id = Number(found[1]);
  const places: Place[] = [];
  for (const evaluation of [false, true]) {
    const step = nearest(run.ids(), id, evaluation);
    if (step?.id === id) {
      places.push({
        title: `${evaluation ? 'eval step' : 'step'} ${id}`,
        kind: 'step',
        href: href({ view: 'rollouts', step }),
      });
    }
  }
  const step = currentStep();
  if (step && id >= 0) {
    places.push({
      title: `sample ${id} of ${step.evaluation ? 'eval step' : 'step'} ${step.id}`,
      kind: 'sample',
      href: href({ view: 'sample', step, index: id }),
    });
  }
  return places;
}

export function Search(props: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  const [text, setText] = createSignal('');
  const [at, setAt] = createSignal(0);
  const metrics = createMemo((): readonly Place[] => {
    const to = (key: string, category: string): string =>
      href({ view: 'metrics' }, { c: category, full: key });
    return [
      ...(run.metricKeys() ?? []).map((key) => ({
        title: key,
        kind: 'metric',
        href: to(key, categoryOf(key)),
      })),
      ...(run.engineMetricKeys() ?? []).map((key) => ({
        title: key,
        kind: 'engine metric',
        href: to(key, 'sglang'),
      })),
    ];
  });
  const alarms = (): readonly Place[] =>
    findings().map((finding) => ({
      title: `${finding.rule}: ${finding.message}`,
      kind: finding.level,
      href: href({ view: 'metrics' }, { panel: 'alarms' }),
    }));
  const found = createMemo(() => {
    const numbers = byNumber(text());
    return [
      ...numbers,
      ...findAll(text(), [...VIEWS, ...metrics(), ...alarms()], MOST_SHOWN - numbers.length),
    ];
  });
  const close = (): void => {
    props.onClose();
    setText('');
    setAt(0);
  };
  const onKey = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (by !== 0) {
      event.preventDefault();
      setAt((now) => (now + by + found().length) % Math.max(1, found().length));
    } else if (event.key === 'Enter') {
      const place = found()[at()];
      if (!place) return;
      // Else it presses what has the focus next.
      event.preventDefault();
      location.hash = place.href;
      close();
    }
  };
  return (
    <Dialog title="Search" open={props.open} onClose={close}>
      <div class="f-search">
        <input
          class="k-input"
          type="search"
          role="combobox"
          aria-label="Search"
          aria-expanded="true"
          aria-controls="search-results"
          aria-activedescendant={found().length > 0 ? `search-${at()}` : undefined}
          placeholder="metric, step, sample or view"
          autofocus
          autocomplete="off"
          spellcheck={false}
          value={text()}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
        <div id="search-results" role="listbox" aria-label="Results">
          <For each={found()}>
            {(place, index) => (
              <a
                id={`search-${index()}`}
                role="option"
                aria-selected={index() === at()}
                tabIndex={-1}
                href={place.href}
                onClick={close}
                onPointerMove={() => setAt(index())}
              >
                <span class="f-found">{place.title}</span>
                <span class="k-muted">{place.kind}</span>
              </a>
            )}
          </For>
          <Show when={found().length === 0}>
            <p class="k-muted">Nothing is called so. Text in samples is searched in Rollouts.</p>
          </Show>
        </div>
      </div>
    </Dialog>
  );
}
