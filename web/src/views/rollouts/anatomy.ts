// Batch anatomy without its canvas: order of the rows, how many were under way when, ticks of the clock. Pure.

import type { TrajectoryLane } from '../../api';
import { rewardOf, type Row } from './columns';

export const ORDERS = ['submit', 'finish', 'staleness', 'span', 'reward', 'turns', 'group'] as const;
export type Order = (typeof ORDERS)[number];

export interface AnatomyRow {
  readonly lane: TrajectoryLane;
  readonly row: Row | undefined;
}

/** Generation calls that were seen. */
export function turnsOf({ lane, row }: AnatomyRow): number {
  return row?.turns ?? lane.segments.reduce((n, each) => n + Number(each.kind === 'gen'), 0);
}

const KEYS: Readonly<Record<Order, (each: AnatomyRow) => number>> = {
  submit: ({ lane }) => lane.first_ts,
  finish: ({ lane }) => lane.last_ts,
  staleness: ({ row }) => -(row?.staleness ?? -Infinity),
  span: ({ lane }) => -(lane.last_ts - lane.first_ts),
  reward: ({ row }) => -((row && rewardOf(row)) ?? -Infinity),
  turns: (each) => -turnsOf(each),
  group: ({ lane }) => lane.group_index ?? Infinity,
};

/** Lanes with their summary rows in that order; equal ones by submission. `keep`: those that pass the filters. */
export function orderLanes(
  lanes: readonly TrajectoryLane[],
  rows: readonly Row[],
  order: Order,
  keep?: ReadonlySet<number>,
): readonly AnatomyRow[] {
  const byIndex = new Map(rows.map((row) => [row.sample_index, row]));
  const key = KEYS[order];
  return lanes
    .filter((lane) => keep === undefined || keep.has(lane.sample_index))
    .map((lane) => ({ lane, row: byIndex.get(lane.sample_index) }))
    .map((each) => ({ each, key: key(each) }))
    .sort((a, b) => (a.key === b.key ? a.each.lane.first_ts - b.each.lane.first_ts : a.key < b.key ? -1 : 1))
    .map(({ each }) => each);
}

/** How many samples were generating or waiting for a tool, by bucket of the window (the mean over the bucket). */
export function inFlight(
  rows: readonly AnatomyRow[],
  [t0, t1]: readonly [number, number],
  buckets: number,
): { readonly gen: Float64Array; readonly tool: Float64Array; readonly most: number } {
  const gen = new Float64Array(buckets);
  const tool = new Float64Array(buckets);
  const per = (t1 - t0) / buckets;
  if (!(per > 0)) return { gen, tool, most: 0 };
  for (const { lane } of rows) {
    for (const { kind, t0: from, t1: to } of lane.segments) {
      if (from === null && to === null) continue;
      const [a, b] = [((from ?? lane.first_ts) - t0) / per, ((to ?? lane.last_ts) - t0) / per];
      const into = kind === 'gen' ? gen : tool;
      for (let at = Math.max(0, Math.floor(a)); at < Math.min(buckets, b); at += 1) {
        into[at] = (into[at] ?? 0) + Math.max(0, Math.min(b, at + 1) - Math.max(a, at));
      }
    }
  }
  let most = 0;
  for (let at = 0; at < buckets; at += 1) most = Math.max(most, (gen[at] ?? 0) + (tool[at] ?? 0));
  return { gen, tool, most };
}

/** Versions in use, oldest first: numbers before other names. */
export function versionsOf(rows: readonly AnatomyRow[]): readonly string[] {
  const names = new Set<string>();
  for (const { lane } of rows) {
    for (const each of lane.segments)
      if (each.kind === 'gen' && each.weight_version) names.add(each.weight_version);
  }
  return [...names].sort((a, b) => a.localeCompare(b, undefined, { numeric: true }));
}

/** Everything that is to be seen: first event to the moment training took the batch. */
export function timeSpan(
  lanes: readonly TrajectoryLane[],
  consume: number | null,
): readonly [number, number] | undefined {
  let t0 = Infinity;
  let t1 = -Infinity;
  for (const lane of lanes) {
    t0 = Math.min(t0, lane.first_ts);
    t1 = Math.max(t1, lane.last_ts);
  }
  if (consume !== null && consume >= t0) t1 = Math.max(t1, consume);
  return t1 > t0 ? [t0, t1 + (t1 - t0) * 0.015] : Number.isFinite(t0) ? [t0, t0 + 1] : undefined;
}

const TICKS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];

/** Times for an axis, on round seconds. */
export function timeTicks([t0, t1]: readonly [number, number], about: number): readonly number[] {
  const step = TICKS_S.find((each) => each >= (t1 - t0) / about) ?? 14400;
  const list: number[] = [];
  for (let at = Math.ceil(t0 / step) * step; at <= t1 && list.length < 200; at += step) list.push(at);
  return list;
}
