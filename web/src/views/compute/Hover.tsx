// The card at the pointer: time, and for a lane its phases and rank, utilisation, memory, the processes that hold it,
// and its engine with the chosen value.

import { createEffect, createMemo, createSignal, For, onCleanup, Show, type JSX } from 'solid-js';
import { api, createQuery } from '../../api';
import { phaseStyle } from '../../design/phases';
import { format, HoverCard } from '../../kit';
import { run } from '../../state/run';
import { isOpen } from './lanePaint';
import { seriesIn } from './laneData';
import { engineAt, lastAt, nearest, phasesAt, topProcesses } from './lookup';
import { Swatch } from './Legend';
import { useCompute, type Cursor } from './state';
import { timeText } from './ticks';

/** The pointer has to rest this long before the server is asked. */
const REST_MS = 60;
/** Processes are looked at every few seconds. */
const PROCESSES_S = 20;

export function Hover(): JSX.Element {
  const state = useCompute();
  const [rested, setRested] = createSignal<Cursor>();
  createEffect(() => {
    const cursor = state.cursor();
    const timer = setTimeout(() => setRested(cursor?.lane ? cursor : undefined), REST_MS);
    onCleanup(() => clearTimeout(timer));
  });
  /** A little window around the pointer, on a grid so that small moves ask nothing new. */
  const asked = createMemo(
    () => {
      const cursor = rested();
      if (!cursor?.lane) return undefined;
      const grid = Math.max(2, 2 * state.period());
      const at = Math.floor(cursor.t / grid) * grid;
      return {
        lanes: `g:${cursor.lane.index}`,
        at,
        t0: at - 4 * state.period(),
        t1: at + grid + 4 * state.period(),
      };
    },
    undefined,
    { equals: (a, b) => a?.lanes === b?.lanes && a?.at === b?.at },
  );
  const options = { once: true, quiet: true, forget: true };
  const phases = createQuery(() => {
    const a = asked();
    return a ? api.phases({ lanes: a.lanes, t0: a.t0, t1: a.t1 }) : null;
  }, options);
  const gpu = createQuery(() => {
    const a = asked();
    return a ? api.gpu({ lanes: a.lanes, t0: a.t0, t1: a.t1 }) : null;
  }, options);
  const processes = createQuery(() => {
    const a = asked();
    return a ? api.gpuProcesses({ lanes: a.lanes, t0: a.at - PROCESSES_S, t1: a.t1 }) : null;
  }, options);
  const engines = createQuery(() => {
    const a = asked();
    return a && state.overlay() !== ''
      ? api.engineSeries(state.overlay(), { t0: a.at - 60, t1: a.t1 + 60 })
      : null;
  }, options);

  return (
    <HoverCard at={state.cursor()}>
      <Show when={state.cursor()}>
        {(cursor) => (
          <div class="c-hover">
            <div class="c-hover-head">
              <strong>
                {((lane) => (lane ? `${lane.node} · GPU ${lane.gpu}` : cursor().title))(cursor().lane)}
              </strong>
              <span>{timeText(cursor().t, state.origin(), state.span()[1] - state.span()[0] < 30)}</span>
            </div>
            <dl class="c-card">
              <For each={cursor().facts ?? []}>
                {(fact) => (
                  <>
                    <dt>
                      <Show when={fact.color}>{(fill) => <Swatch fill={fill()} />}</Show>
                      {fact.name}
                    </dt>
                    <dd>{fact.value}</dd>
                  </>
                )}
              </For>
              <Show when={cursor().lane}>
                {(lane) => {
                  const here = (): boolean => asked()?.lanes === `g:${lane().index}`;
                  const at = createMemo(() =>
                    here() ? phasesAt(phases.data()?.phases ?? [], cursor().t) : [],
                  );
                  const series = (): ReturnType<typeof seriesIn> => {
                    const answer = here() ? gpu.data() : undefined;
                    return answer && seriesIn(answer, lane());
                  };
                  const reading = createMemo(() =>
                    nearest(series()?.ts ?? [], cursor().t, 3 * state.period()),
                  );
                  const engine = createMemo(() => {
                    const known = state.topology();
                    return known && engineAt(known, lane().node, lane().gpu, cursor().t);
                  });
                  const value = createMemo(() => {
                    const wanted = state.engine() === '' ? engine()?.addr : state.engine();
                    const line = engines.data()?.series.find((each) => each.addr === wanted);
                    return line?.value[lastAt(line.ts, cursor().t)];
                  });
                  const top = createMemo(() =>
                    here() ? topProcesses(processes.data()?.processes ?? [], cursor().t) : [],
                  );
                  return (
                    <>
                      <For each={at()} fallback={<Row name="phase" value={format.MISSING} />}>
                        {(phase) => (
                          <>
                            <dt data-tip={phaseStyle(phase.name).what}>
                              <Swatch phase={phase.name} />
                              {phase.name}
                            </dt>
                            <dd>
                              {phase.rank >= 0
                                ? `rank ${phase.rank} · `
                                : phase.role === 'derived'
                                  ? ''
                                  : `${phase.role.replace('_', ' ')} · `}
                              {format.duration(phase.t1 - phase.t0)}
                              {isOpen(phase.t1, state.full()[1]) && run.isLive() === true
                                ? ', still open'
                                : ''}
                            </dd>
                          </>
                        )}
                      </For>
                      <Row name="utilization" value={unit(series()?.util[reading()], '%')} />
                      <Row name="memory" value={format.memory(series()?.mem_mb[reading()])} />
                      <Row name="power" value={unit(series()?.power_w[reading()], 'W')} />
                      <Show when={engine()}>
                        {(known) => (
                          <Row
                            name={`engine ${known().engine_rank ?? ''}`}
                            value={known().addr.replace(/^https?:\/\//, '')}
                          />
                        )}
                      </Show>
                      <Show when={state.overlay() !== ''}>
                        <Row name={state.overlay().replace('sglang_', '')} value={format.num(value())} />
                      </Show>
                      <Show when={top().length > 0}>
                        <dt class="c-card-part">processes by memory</dt>
                        <dd class="c-card-part" />
                        <For each={top()}>
                          {(each) => (
                            <>
                              <dt class="mono">{each.name ?? `pid ${format.cell(each.pid)}`}</dt>
                              <dd>{format.memory(each.mem_mb)}</dd>
                            </>
                          )}
                        </For>
                      </Show>
                    </>
                  );
                }}
              </Show>
            </dl>
          </div>
        )}
      </Show>
    </HoverCard>
  );
}

const unit = (value: number | null | undefined, of: string): string =>
  value === null || value === undefined ? format.MISSING : `${format.num(value, 3)} ${of}`;

function Row(props: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </>
  );
}
