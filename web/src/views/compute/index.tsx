// The view Compute Utilization: what the GPUs of the run did and when. From top to bottom: the steps of the run, all
// lanes (a carpet, or of a large fleet an overview), the chosen lanes in detail, what rules say.

import { createEffect, createSignal, Match, onCleanup, Show, Switch, type JSX } from 'solid-js';
import { Button, Checkbox, Empty, format, Loading, Segmented, Select } from '../../kit';
import { run } from '../../state/run';
import { magnitudeText } from './carpetPaint';
import { Carpet } from './Carpet';
import { Detail, engineName } from './Detail';
import { Fleet } from './Fleet';
import { Hover } from './Hover';
import { LaneMap } from './LaneMap';
import { LifecycleLegend, PhaseLegend, RampLegend, Swatch } from './Legend';
import { Lifecycle } from './Lifecycle';
import { Panels } from './Panels';
import { createSelection, type Selected } from './selection';
import { SelectorBar } from './SelectorBar';
import { createComputeState, MOST_CARPET_LANES, StateContext, useCompute } from './state';
import { StepStrip } from './StepStrip';
import { TimeAxis, xOf } from './TimeAxis';
import { timeText } from './ticks';
import './compute.css';

export default function Compute(): JSX.Element {
  return (
    <Switch fallback={<Loading what="the run" height={400} />}>
      <Match when={run.capabilities()?.has_timeline === false}>
        <Empty title="No timeline was recorded">
          This view needs the phases of the ranks or readings of the GPUs. Run{' '}
          <code>miles-sample | miles-collect</code> beside the job, or start it with its telemetry collector
          on; see docs/pipelines.md.
        </Empty>
      </Match>
      <Match when={run.timeRange() === null}>
        <Empty title="Nothing yet">The streams of this run have no records so far.</Empty>
      </Match>
      <Match when={run.timeRange()}>
        <View />
      </Match>
    </Switch>
  );
}

function View(): JSX.Element {
  const state = createComputeState();
  const selected = createSelection(state);
  return (
    <StateContext.Provider value={state}>
      <div class="c-view">
        <section class="k-panel c-main" aria-label="Compute utilization">
          <Toolbar />
          <SelectorBar selected={selected} />
          <Plots selected={selected} />
        </section>
        <Panels />
      </div>
      <Hover />
    </StateContext.Provider>
  );
}

/** Everything that shares the axis of time, and the line at the pointer through all of it. */
function Plots(props: { readonly selected: Selected }): JSX.Element {
  const state = useCompute();
  const [element, setElement] = createSignal<HTMLDivElement>();
  createEffect(() => {
    const plots = element();
    if (!plots) return;
    const measure = (): void => {
      const left = plots.clientWidth < 640 ? 68 : 148;
      state.setPlot({ left, width: Math.max(1, plots.clientWidth - left) });
    };
    const observer = new ResizeObserver(measure);
    observer.observe(plots);
    measure();
    onCleanup(() => observer.disconnect());
  });
  const cursorX = (): number => {
    const cursor = state.cursor();
    return cursor ? xOf(cursor.t, state.span(), state.plot()) : -10;
  };
  return (
    <div class="c-plots" ref={setElement}>
      <StepStrip />
      <div class="c-shared">
        <Show when={state.isFleet()} fallback={<Carpet selected={props.selected} />}>
          <Fleet />
        </Show>
        <TimeAxis />
        <Show when={state.isFleet()}>
          <LaneMap selected={props.selected} />
        </Show>
        <DetailBar />
        <Lifecycle />
        <Detail selected={props.selected} />
        <TimeAxis />
        <div
          class="c-cursor"
          style={{
            transform: `translateX(${cursorX()}px)`,
            visibility:
              cursorX() < state.plot().left || cursorX() > state.plot().left + state.plot().width
                ? 'hidden'
                : 'visible',
          }}
        />
      </div>
    </div>
  );
}

const METRICS = [
  { value: 'util', label: 'Util', tip: 'GPU utilization, the greatest reading of each part' },
  { value: 'phase', label: 'Phase', tip: 'what each GPU was used for' },
  { value: 'mem_mb', label: 'Memory', tip: 'device memory in use' },
  { value: 'power_w', label: 'Power', tip: 'power drawn' },
  { value: 'lifecycle', label: 'Lifecycle', tip: 'a row a sample: queued, generating, waiting for a tool' },
] as const;

const MAGNITUDES: ReadonlySet<string> = new Set(['util', 'mem_mb', 'power_w']);

function Toolbar(): JSX.Element {
  const state = useCompute();
  // As it was before a gesture: while one goes on, the axis says where the window is, and nothing is laid out anew.
  const width = (): number => state.settled()[1] - state.settled()[0];
  return (
    <header class="c-toolbar">
      <h2>Compute utilization</h2>
      <Show when={state.laneCount() <= MOST_CARPET_LANES}>
        <Segmented
          label="Overview"
          value={state.isFleet() ? 'fleet' : 'carpet'}
          onChange={(mode) => state.setMode(mode)}
          options={[
            { value: 'carpet', label: 'Carpet', tip: 'a row a lane' },
            {
              value: 'fleet',
              label: 'Fleet',
              tip: 'shares of the lanes in each phase, and the band of utilization',
            },
          ]}
        />
      </Show>
      <Show when={!state.isFleet()}>
        <Segmented
          label="What the carpet shows"
          value={state.metric()}
          onChange={(metric) => state.setMetric(metric)}
          options={METRICS}
        />
        <Show when={MAGNITUDES.has(state.metric())}>
          <RampLegend
            from={magnitudeText(state.metric(), 0)}
            to={magnitudeText(state.metric(), state.top())}
          />
        </Show>
      </Show>
      <div class="c-window">
        <span class="c-quiet" aria-live="off">
          {timeText(state.settled()[0], state.origin())} – {timeText(state.settled()[1], state.origin())} ·{' '}
          {format.duration(width())}
        </span>
        <Button onClick={state.reset} tip="the window as at first (0, double click)">
          Reset
        </Button>
        <Show when={run.isLive() === true}>
          <Button
            pressed={state.following()}
            onClick={() =>
              state.following()
                ? state.zoomTo([state.span()[0], state.span()[1] - 0.02 * width()])
                : state.follow()
            }
            tip="the window trails the newest data until you pan away (Shift+F)"
          >
            Follow
          </Button>
        </Show>
        <Segmented
          label="Times"
          value={state.wall() ? 'wall' : 'relative'}
          onChange={(value) => state.setWall(value === 'wall')}
          options={[
            { value: 'relative', label: 'Relative', tip: 'since the start of the run' },
            { value: 'wall', label: 'Wall clock', tip: 'by the clock, in your time zone' },
          ]}
        />
      </div>
    </header>
  );
}

function DetailBar(): JSX.Element {
  const state = useCompute();
  const engines = (): { value: string; label: string }[] => {
    const known = state.topology()?.windows.at(-1)?.engines ?? [];
    return [
      { value: '', label: 'engine of each lane' },
      ...known.map((engine) => ({ value: engine.addr, label: engineName(engine.engine_rank, engine.addr) })),
    ];
  };
  const metrics = (): { value: string; label: string }[] => [
    { value: '', label: 'no engine overlay' },
    ...(run.engineMetricKeys() ?? []).map((key) => ({ value: key, label: key.replace(/^sglang_/, '') })),
  ];
  return (
    <div class="c-detail-bar">
      <h2>Detail</h2>
      <Checkbox
        label={
          <>
            <Swatch fill="var(--series-5)" /> memory
            <Show when={state.memory()}>
              <span class="c-quiet"> 0–{format.memory(state.peaks().memory)}</span>
            </Show>
          </>
        }
        checked={state.memory()}
        onChange={(on) => state.setMemory(on)}
        tip="device memory in use, as a line"
      />
      <Show when={run.capabilities()?.has_engine_series === true}>
        <Select
          label="Engine overlay"
          options={metrics()}
          value={state.overlay()}
          onChange={(value) => state.setOverlay(value)}
        />
        <Show when={state.overlay() !== ''}>
          <span class="c-overlay" data-tip="the line in the detail, and what its upper end stands for">
            <Swatch fill="var(--text)" /> 0–{format.short(state.peaks().engine)}
          </span>
          <Select
            label="Engine"
            options={engines()}
            value={state.engine()}
            onChange={(value) => state.setEngine(value)}
          />
        </Show>
      </Show>
      <PhaseLegend />
      <LifecycleLegend />
    </div>
  );
}
