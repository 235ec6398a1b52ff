// Metrics: categories at the side, a grid of charts that share cursor and zoom, the pinned ones above.

import { createMemo, For, Show, type JSX } from 'solid-js';
import { Answer, Button, Empty, SearchField, Seen, Segmented } from '../../kit';
import { useKeys } from '../../state/keys';
import { run } from '../../state/run';
import { makeFilter } from './categories';
import { Chart } from './Chart';
import { engineModel } from './engine-model';
import { FullScreen } from './FullScreen';
import { Legend } from './Legend';
import { metricModel } from './metric-model';
import type { ChartModel } from './model';
import { createState, type XAxis } from './state';
import { createStore } from './store';
import './metrics.css';

/** CSS pixels of a chart in the grid. */
const HEIGHT = 168;

export default function Metrics(): JSX.Element {
  return (
    <Answer query={run.query} what="the run">
      {() => <View />}
    </Answer>
  );
}

function View(): JSX.Element {
  const store = createStore();
  const state = createState(() => store.categories().map((category) => category.name));
  const filter = createMemo(() => makeFilter(state.text()));
  const engineKeys = createMemo(() => new Set(run.engineMetricKeys() ?? []));
  const counts = createMemo(() =>
    store.categories().map(({ name, keys }) => ({
      name,
      all: keys.length,
      found: keys.filter((key) => filter().test(key)).length,
    })),
  );
  const shown = createMemo(() => {
    const own = store.categories().find((category) => category.name === state.category());
    return (own?.keys ?? []).filter((key) => filter().test(key));
  });
  /** Pinned ones that this run has. */
  const pinned = createMemo(() => {
    const known = new Set(store.categories().flatMap((category) => category.keys));
    return state.pins().filter((key) => known.has(key));
  });
  const make = (key: string, near: () => boolean): ChartModel =>
    engineKeys().has(key) ? engineModel(key, state, store, near) : metricModel(key, state, store, near);
  const move = (by: number): void => {
    const all = store.categories();
    const at = all.findIndex((category) => category.name === state.category());
    const next = all[(at + by + all.length) % all.length];
    if (next) state.setCategory(next.name);
  };
  useKeys('Metrics', [
    { keys: ['j'], what: 'next category', run: () => move(1) },
    { keys: ['k'], what: 'previous category', run: () => move(-1) },
    {
      keys: ['x'],
      what: 'steps or wall clock',
      run: () => state.setX(state.x() === 'step' ? 'time' : 'step'),
    },
    { keys: ['z'], what: 'reset every zoom', run: () => state.resetZoom() },
    { keys: ['ArrowLeft', 'ArrowRight'], what: 'on a chart: from point to point' },
    { keys: ['Enter'], what: 'on a chart: open the step of that point' },
    { keys: ['+', '-', '0'], what: 'on a chart: zoom in, out, reset' },
  ]);
  const isEngines = (): boolean => state.category() === 'sglang' && engineKeys().size > 0;
  const card = (key: string): JSX.Element => (
    <Seen class="m-slot">
      {(near) => {
        // Once: as an expression of a property it would be made anew each time that it is read.
        const model = make(key, near);
        return <Chart model={model} state={state} height={HEIGHT} />;
      }}
    </Seen>
  );

  return (
    <Show when={store.categories().length > 0} fallback={<NothingLogged />}>
      <div class="m-view">
        <nav class="m-side" aria-label="Categories of metrics">
          <For each={counts()}>
            {({ name, all, found }) => (
              <button
                type="button"
                class="m-category"
                aria-current={name === state.category() ? 'true' : undefined}
                classList={{ 'm-without': found === 0 }}
                onClick={() => state.setCategory(name)}
              >
                <span>{name}</span>
                <span class="m-count">{found === all ? all : `${found}/${all}`}</span>
              </button>
            )}
          </For>
        </nav>
        <div class="m-main">
          <div class="m-tools">
            <SearchField
              label="Filter metrics"
              placeholder="filter: words or /regex/"
              value={state.text()}
              onInput={(text) => state.setText(text)}
              invalid={filter().error}
              search
            />
            <Show when={!isEngines()}>
              <Segmented<XAxis>
                label="Horizontal axis"
                value={state.x()}
                options={[
                  {
                    value: 'step',
                    label: 'step',
                    tip: 'train/* over train/step, eval/* over eval/step, the rest over rollout/step',
                  },
                  { value: 'time', label: 'wall clock', tip: 'When each point was logged' },
                ]}
                onChange={(x) => state.setX(x)}
              />
              <Smoothing value={state.smoothing()} onChange={(weight) => state.setSmoothing(weight)} />
            </Show>
            <Show when={state.isZoomed()}>
              <Button onClick={() => state.resetZoom()} tip="Show everything (z, or double click on a chart)">
                Reset zoom
              </Button>
            </Show>
          </div>
          <Show when={run.capabilities()?.has_metrics === false && state.category() === 'dump'}>
            <p class="m-banner">
              This run has no metrics stream: these are made from the dumps. Logged metrics are recorded with{' '}
              <code>--use-miles-dashboard</code>.
            </p>
          </Show>
          <Show when={pinned().length > 0}>
            <section aria-label="Pinned charts" class="m-pinned">
              <h2 class="m-section">Pinned</h2>
              <div class="m-grid">
                <For each={pinned()}>{card}</For>
              </div>
            </section>
          </Show>
          <section aria-label={`Charts of ${state.category()}`}>
            <Show when={pinned().length > 0}>
              <h2 class="m-section">{state.category()}</h2>
            </Show>
            <Show when={isEngines()}>
              <Legend engines={store.engines()} state={state} />
            </Show>
            <Show
              when={shown().length > 0}
              fallback={
                <Empty title={`No metric of ${state.category()} is called so`}>
                  <Button onClick={() => state.setText('')}>Clear the filter</Button>
                </Empty>
              }
            >
              <div class="m-grid">
                <For each={shown()}>{card}</For>
              </div>
            </Show>
          </section>
        </div>
      </div>
      <FullScreen state={state} make={(key) => make(key, () => true)} />
    </Show>
  );
}

function Smoothing(props: {
  readonly value: number;
  readonly onChange: (weight: number) => void;
}): JSX.Element {
  return (
    <label
      class="k-field"
      data-tip="Exponential moving average: the weight of what was before. The raw line stays behind it."
    >
      smoothing
      <input
        type="range"
        class="m-slider"
        min="0"
        max="0.99"
        step="0.01"
        value={props.value}
        onInput={(event) => props.onChange(Number(event.currentTarget.value))}
      />
      <output class="m-weight">{props.value.toFixed(2)}</output>
    </label>
  );
}

function NothingLogged(): JSX.Element {
  return (
    <Empty title="Nothing is recorded here yet">
      <p>
        Metrics are logged into <code>dashboard/metrics.jsonl</code> of a run with{' '}
        <code>--use-miles-dashboard</code>; the <code>dump/*</code> ones are made from{' '}
        <code>rollout_data/*.pt</code>, which <code>--dump-details DIR</code> writes.
      </p>
    </Empty>
  );
}
