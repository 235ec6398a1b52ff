// Phases, readings and engine series of the lanes in the detail, for those that are on screen: lanes are asked for in
// groups, so that scrolling asks for whole groups and not for lanes one by one.

import { createMemo, mapArray, type Accessor } from 'solid-js';
import {
  api,
  type EngineLine,
  type EngineSeries,
  type Gpu,
  type GpuSeries,
  type Phase,
  type Phases,
} from '../../api';
import { laneKey } from './lookup';
import { createPieces, type Loaded } from './pieceQueries';
import { PIECE } from './pieces';
import { compress } from './selector';
import type { LaneRef } from './selection';
import type { ComputeState } from './state';

const GROUP = 8;
/** Readings come once a second and seldom more often: finer pieces would be many and empty. */
const LEAST_BUCKET_S = 0.25;

interface Group {
  readonly indices: ReadonlySet<number>;
  readonly gpu: Accessor<readonly Loaded<Gpu>[]>;
  readonly phases: Accessor<readonly Loaded<Phases>[]>;
}

export interface LaneData {
  /** What a lane's picture is made from: new arrays when there is something new. */
  readonly gpuOf: (lane: LaneRef) => readonly Loaded<Gpu>[];
  readonly phasesOf: (lane: LaneRef) => readonly Loaded<Phases>[];
  readonly engines: Accessor<readonly Loaded<EngineSeries>[]>;
  /** Highest memory and engine value of what is loaded, for their axes. */
  readonly memoryPeak: Accessor<number>;
  readonly enginePeak: Accessor<number>;
}

const NONE: readonly never[] = [];

export function createLaneData(
  state: ComputeState,
  lanes: Accessor<readonly LaneRef[]>,
  /** Positions of the lanes on screen, the second one is behind the last. */
  visible: Accessor<readonly [number, number]>,
): LaneData {
  const pieces = state.piecesAt(() => LEAST_BUCKET_S);
  const groupKeys = createMemo(
    () => {
      const [from, to] = visible();
      const keys: string[] = [];
      for (let at = Math.floor(from / GROUP) * GROUP; at < to; at += GROUP) {
        const indices = lanes()
          .slice(at, at + GROUP)
          .map((lane) => lane.index);
        if (indices.length > 0) keys.push(indices.join(' '));
      }
      return keys;
    },
    undefined,
    { equals: (a, b) => a.join() === b.join() },
  );
  const groups = createMemo(
    mapArray(groupKeys, (key): Group => {
      const indices = key.split(' ').map(Number);
      const selector = compress(indices);
      const gpu = createPieces(
        () => pieces(),
        ({ t0, t1 }) => api.gpu({ lanes: selector, t0, t1, max_points: 2 * PIECE }),
        state.settledBefore,
      );
      const phases = createPieces(
        () => pieces(),
        ({ t0, t1 }) => api.phases({ lanes: selector, t0, t1 }),
        state.settledBefore,
      );
      return { indices: new Set(indices), gpu: gpu.loaded, phases: phases.loaded };
    }),
  );
  const groupOf = (lane: LaneRef): Group | undefined =>
    groups().find((group) => group.indices.has(lane.index));

  const engines = createPieces<EngineSeries>(
    () => pieces(),
    ({ t0, t1 }) =>
      state.overlay() === '' ? null : api.engineSeries(state.overlay(), { t0, t1, max_points: PIECE }),
    state.settledBefore,
  ).loaded;

  const memoryPeak = createMemo(() => {
    if (!state.memory()) return 0;
    let peak = 0;
    for (const group of groups())
      for (const piece of group.gpu())
        for (const series of Object.values(piece.data.lanes)) peak = Math.max(peak, peakOf(series.mem_mb));
    // In steps of 16 GiB, so that the axis stands still.
    return Math.max(1, Math.ceil(peak / 16_384)) * 16_384;
  });
  const enginePeak = createMemo(() => {
    let peak = 0;
    for (const piece of engines())
      for (const line of piece.data.series)
        if (state.engine() === '' || line.addr === state.engine()) peak = Math.max(peak, peakOf(line.value));
    return niceAbove(peak);
  });
  return {
    gpuOf: (lane) => groupOf(lane)?.gpu() ?? NONE,
    phasesOf: (lane) => groupOf(lane)?.phases() ?? NONE,
    engines,
    memoryPeak,
    enginePeak,
  };
}

const peaks = new WeakMap<readonly (number | null)[], number>();

function peakOf(values: readonly (number | null)[]): number {
  const known = peaks.get(values);
  if (known !== undefined) return known;
  let peak = 0;
  for (const value of values) if (value !== null && value > peak) peak = value;
  peaks.set(values, peak);
  return peak;
}

/** The least of 1, 2, 5, 10, … that is not below it. */
export function niceAbove(value: number): number {
  if (!(value > 0)) return 1;
  const ten = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * ten).find((step) => step >= value * 0.999) ?? value;
}

const byLane = new WeakMap<Phases, Map<string, Phase[]>>();

/** The phases of one lane in an answer, in order of their start. */
export function phasesIn(
  answer: Phases,
  lane: { readonly node: string; readonly gpu: number },
): readonly Phase[] {
  let lists = byLane.get(answer);
  if (!lists) {
    lists = new Map();
    for (const phase of answer.phases) {
      const key = laneKey(phase.node, phase.gpu);
      const list = lists.get(key);
      if (list) list.push(phase);
      else lists.set(key, [phase]);
    }
    byLane.set(answer, lists);
  }
  return lists.get(laneKey(lane.node, lane.gpu)) ?? NONE;
}

const names = new WeakMap<Phases, ReadonlySet<string>>();

/** Which phases there are in an answer. */
export function namesIn(answer: Phases): ReadonlySet<string> {
  let known = names.get(answer);
  if (!known) {
    known = new Set(answer.phases.map((phase) => phase.name));
    names.set(answer, known);
  }
  return known;
}

export const seriesIn = (
  answer: Gpu,
  lane: { readonly node: string; readonly gpu: number },
): GpuSeries | undefined => answer.lanes[laneKey(lane.node, lane.gpu)];

/** The lines of one engine; one, or several where ranks are kept apart. */
export const linesOf = (answer: EngineSeries, addr: string | undefined): EngineLine[] =>
  answer.series.filter((line) => line.addr === addr);
