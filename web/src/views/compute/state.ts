// What the view shows: the window of time, which lanes, which metric. Everything that a link should carry is in the
// address; a window that is being dragged is here until the gesture ends.

import { batch, createContext, createMemo, createSignal, untrack, useContext, type Accessor } from 'solid-js';
import { api, createQuery, type Topology } from '../../api';
import { clamp, type Limits, type Span } from '../../kit';
import { codecs, setParams, useParam, type Change, type Codec } from '../../state/router';
import { run } from '../../state/run';
import { frameAround, serves, type Frame } from './frame';
import type { LaneRef } from './selection';
import { bucketFor, pieceAround, piecesFor, type Piece } from './pieces';

/** Above it lanes cannot be told apart any more. */
export const MOST_CARPET_LANES = 64;
/** How much of a live run is shown at first. */
const TRAIL_S = 1800;
const LEAST_SPAN_S = 2;
/** A piece that ended this long ago gets no readings any more, however late a collector is. */
const SETTLED_S = 600;

export const CARPET_METRICS = ['util', 'phase', 'mem_mb', 'power_w', 'lifecycle'] as const;

export interface Fact {
  readonly name: string;
  readonly value: string;
  /** What to fill a mark beside it with. */
  readonly color?: string | undefined;
}

/** Where the pointer is, and what is there. */
export interface Cursor {
  readonly t: number;
  /** Window pixels. */
  readonly x: number;
  readonly y: number;
  readonly lane?: LaneRef | undefined;
  readonly title?: string | undefined;
  readonly facts?: readonly Fact[] | undefined;
}

const windowCodec: Codec<Span | undefined> = {
  read: codecs.range.read,
  write: (span) => (span ? codecs.range.write(span) : null),
};

export type ComputeState = ReturnType<typeof createComputeState>;

export function createComputeState() {
  const [t, setT] = useParam<Span | undefined>('t', windowCodec, undefined);
  const [trail, setTrail] = useParam('trail', codecs.number, TRAIL_S);
  const [lanes, setLanes] = useParam('lanes', codecs.text, '');
  const [metric, setMetric] = useParam('carpet', codecs.choice(...CARPET_METRICS), 'util');
  const [mode, setMode] = useParam('mode', codecs.choice('auto', 'fleet', 'carpet'), 'auto');
  const [memory, setMemory] = useParam('mem', codecs.flag, false);
  const [overlay, setOverlay] = useParam('engine_metric', codecs.text, '');
  const [engine, setEngine] = useParam('engine', codecs.text, '');
  const [wall, setWall] = useParam('clock', codecs.flag, false);

  const topologyQuery = createQuery(() => api.topology());
  const topology = (): Topology | undefined => topologyQuery.data();
  const laneCount = (): number => topology()?.lanes.length ?? 0;
  const isFleet = createMemo(() => {
    if (laneCount() > MOST_CARPET_LANES) return true;
    if (mode() !== 'auto') return mode() === 'fleet';
    return run.capabilities()?.use_utilization_overview === true;
  });

  const full = createMemo(
    (): Span => {
      const range = run.timeRange();
      if (!range) return [0, 1];
      const start = run.startTs() ?? range[0];
      // A run that never got further than its start has readings of one moment.
      return [Math.min(range[0], start), Math.max(range[1], range[0] + LEAST_SPAN_S)];
    },
    undefined,
    { equals: (a, b) => a[0] === b[0] && a[1] === b[1] },
  );
  const most = (): number => run.capabilities()?.max_window_s ?? 14_400;
  const limits = (): Limits => ({ full: full(), least: LEAST_SPAN_S, most: most() });

  const following = (): boolean => run.isLive() === true && t() === undefined;
  const home = (): Span => {
    const width = run.isLive() === true ? trail() : most();
    return clamp([full()[1] - width, full()[1]], limits());
  };
  const [gesture, setGesture] = createSignal<Span>();
  const inGesture = createMemo(() => gesture() !== undefined);
  const span = createMemo(
    (): Span => {
      const moved = gesture();
      if (moved) return moved;
      const asked = t();
      return asked ? clamp(asked, limits()) : home();
    },
    undefined,
    { equals: (a, b) => a[0] === b[0] && a[1] === b[1] },
  );

  const isHome = ([from, to]: Span): boolean => {
    const near = (to - from) * 0.004;
    if (run.isLive() === true) return to >= full()[1] - near;
    return from <= full()[0] + near && to >= full()[1] - near;
  };
  /** A new window; `done` writes it to the address. */
  const setSpan = (next: Span, done: boolean, how: Change = { replace: true }): void => {
    const wanted = clamp(next, limits());
    if (!done) {
      setGesture(wanted);
      return;
    }
    batch(() => {
      setGesture(undefined);
      if (!isHome(wanted)) setT(wanted, how);
      else if (run.isLive() === true) {
        const width = Math.round(wanted[1] - wanted[0]);
        setParams({ t: null, trail: width === TRAIL_S ? null : String(width) }, how);
      } else setT(undefined, how);
    });
  };
  const zoomTo = (next: Span): void => setSpan(next, true, {});
  const reset = (): void => {
    setGesture(undefined);
    setParams({ t: null, trail: null });
  };
  const follow = (): void => {
    const width = Math.round(span()[1] - span()[0]);
    setParams({ t: null, trail: width === TRAIL_S ? null : String(width) });
  };

  const [plot, setPlot] = createSignal(
    { left: 148, width: 0 },
    { equals: (a, b) => a.left === b.left && a.width === b.width },
  );
  const frame = createMemo((last: Frame | undefined): Frame => {
    const width = plot().width;
    if (last && serves(last, span(), width, gesture() !== undefined)) return last;
    return frameAround(span(), width);
  });
  /** The window when the last gesture had ended. */
  const settled = createMemo((last: Span | undefined): Span => (gesture() && last ? last : span()));
  const [cursor, setCursor] = createSignal<Cursor>();
  const origin = (): number | undefined => (wall() ? undefined : (run.startTs() ?? full()[0]));

  /** What the last colour of the carpet stands for, in the unit of its metric. */
  const [top, setTop] = createSignal(100);
  /** Upper ends of the axes of memory (MiB) and of the engine's value in the detail. */
  const [peaks, setPeaks] = createSignal(
    { memory: 0, engine: 0 },
    { equals: (a, b) => a.memory === b.memory && a.engine === b.engine },
  );
  /** Names of phases that were seen, for the legend; in the order of their coming. */
  const [phaseNames, setPhaseNames] = createSignal<ReadonlySet<string>>(new Set());
  const seePhases = (names: Iterable<string>): void => {
    const known = untrack(phaseNames);
    const all = new Set([...known, ...names]);
    if (all.size > known.size) setPhaseNames(all);
  };
  /** Seconds between GPU readings, as far as it is known. */
  const [period, setPeriod] = createSignal(1);
  const settledBefore = (): number => (run.isLive() === true ? full()[1] - SETTLED_S : Infinity);
  /** Pieces of the frame, at the resolution of the pixels, no finer than `least` seconds. */
  const piecesAt = (least: () => number): Accessor<readonly Piece[]> => {
    // They move with the frame and not with the window: what is painted is what was asked for.
    const bucket = createMemo((last: number | undefined) => {
      const { span: painted, width } = frame();
      return width === 0
        ? undefined
        : bucketFor(painted, width, least(), untrack(gesture) ? last : undefined);
    }, undefined);
    const pieces = createMemo((): readonly Piece[] => {
      const size = bucket();
      return size === undefined || !run.timeRange() ? [] : piecesFor(frame().span, size, full());
    });
    return pieces;
  };
  const around = createMemo(
    (last: Piece | undefined): Piece | undefined => {
      const width = plot().width;
      if (width === 0 || !run.timeRange()) return undefined;
      if (last && gesture() && last.t0 <= span()[0] && last.t1 >= span()[1]) return last;
      return pieceAround(span(), width, full(), most());
    },
    undefined,
    { equals: (a, b) => a?.t0 === b?.t0 && a?.t1 === b?.t1 && a?.buckets === b?.buckets },
  );

  return {
    ...{ t, setT, trail, setTrail, lanes, setLanes, metric, setMetric, mode, setMode, memory, setMemory },
    ...{ overlay, setOverlay, engine, setEngine, wall, setWall },
    ...{ topology, topologyQuery, laneCount, isFleet },
    ...{ full, most, limits, following, follow, span, setSpan, zoomTo, reset, gesture, inGesture },
    ...{
      plot,
      setPlot,
      frame,
      settled,
      cursor,
      setCursor,
      origin,
      period,
      setPeriod,
      top,
      setTop,
      peaks,
      setPeaks,
      phaseNames,
      seePhases,
      settledBefore,
      piecesAt,
      around,
    },
  };
}

export const StateContext = createContext<ComputeState>();

export function useCompute(): ComputeState {
  const state = useContext(StateContext);
  if (!state) throw new Error('outside of the compute view');
  return state;
}
