// What a step's samples come to: the numbers of the tiles. Pure.

import type { GroupRow } from '../../api';
import { rewardOf, type Row } from './columns';

/** Mean of what is there; null of nothing. */
export function mean(values: Iterable<number | null | undefined>): number | null {
  let sum = 0;
  let n = 0;
  for (const value of values) {
    if (value === null || value === undefined || !Number.isFinite(value)) continue;
    sum += value;
    n += 1;
  }
  return n === 0 ? null : sum / n;
}

export function greatest(values: Iterable<number | null | undefined>): number | null {
  let most: number | null = null;
  for (const value of values)
    if (value !== null && value !== undefined && (most === null || value > most)) most = value;
  return most;
}

/** With n − 1; null of fewer than two. */
export function spread(values: readonly (number | null)[]): number | null {
  const there = values.filter((value): value is number => value !== null && Number.isFinite(value));
  const middle = mean(there);
  if (middle === null || there.length < 2) return null;
  return Math.sqrt(there.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (there.length - 1));
}

export interface StepStats {
  readonly samples: number;
  readonly removed: number;
  readonly rewardMean: number | null;
  readonly rewardStd: number | null;
  readonly truncated: number;
  /** Of those that know it. */
  readonly mixed: number;
  readonly versioned: number;
  readonly stalenessMean: number | null;
  readonly stalenessMax: number | null;
  readonly lpDiffMean: number | null;
  readonly lpDiffMax: number | null;
  readonly entropyMean: number | null;
  readonly joined: number;
  readonly unplaced: number;
}

export function stepStats(rows: readonly Row[]): StepStats {
  const rewards = rows.map(rewardOf);
  const count = (test: (row: Row) => boolean): number => rows.reduce((n, row) => n + Number(test(row)), 0);
  return {
    samples: rows.length,
    removed: count((row) => row.remove_sample === true),
    rewardMean: mean(rewards),
    rewardStd: spread(rewards),
    truncated: count((row) => row.truncated),
    mixed: count((row) => row.mixed_version === true),
    versioned: count((row) => row.mixed_version !== null),
    stalenessMean: mean(rows.map((row) => row.staleness)),
    stalenessMax: greatest(rows.map((row) => row.staleness)),
    lpDiffMean: mean(rows.map((row) => row.mean_abs_lp_diff)),
    lpDiffMax: greatest(rows.map((row) => row.max_abs_lp_diff)),
    entropyMean: mean(rows.map((row) => row.mean_entropy)),
    joined: count((row) => row.dumped_rank !== null),
    unplaced: count((row) => row.alignment_failed),
  };
}

export interface GroupStats {
  readonly groups: number;
  readonly zero: number;
  /** Zero-std groups of which every reward is 0, is 1, is something else. */
  readonly all0: number;
  readonly all1: number;
  readonly other: number;
}

export function groupStats(groups: readonly GroupRow[]): GroupStats {
  const zero = groups.filter((group) => group.zero_std);
  const near = (value: number | null, to: number): boolean => value !== null && Math.abs(value - to) <= 1e-9;
  const all0 = zero.filter((group) => near(group.reward_mean, 0)).length;
  const all1 = zero.filter((group) => near(group.reward_mean, 1)).length;
  return { groups: groups.length, zero: zero.length, all0, all1, other: zero.length - all0 - all1 };
}

export interface Bins {
  readonly low: number;
  readonly width: number;
  readonly counts: readonly number[];
  readonly missing: number;
}

/** Histogram over [least, greatest] of all values; whole numbers of few kinds get a bin each. */
export function histogram(values: readonly (number | null)[], most = 40): Bins | undefined {
  const there = values.filter((value): value is number => value !== null);
  if (there.length === 0) return undefined;
  let low = Infinity;
  let high = -Infinity;
  let whole = true;
  for (const value of there) {
    low = Math.min(low, value);
    high = Math.max(high, value);
    whole &&= Number.isInteger(value);
  }
  const missing = values.length - there.length;
  if (whole && high - low < most) {
    const counts = Array.from({ length: high - low + 1 }, () => 0);
    for (const value of there) counts[value - low] = (counts[value - low] ?? 0) + 1;
    return { low: low - 0.5, width: 1, counts, missing };
  }
  if (high === low) return { low: low - 0.5, width: 1, counts: [there.length], missing };
  const width = (high - low) / most;
  const counts = Array.from({ length: most }, () => 0);
  for (const value of there) {
    const at = Math.min(most - 1, Math.floor((value - low) / width));
    counts[at] = (counts[at] ?? 0) + 1;
  }
  return { low, width, counts, missing };
}

/** Round numbers inside [low, high] for an axis. */
export function ticks(low: number, high: number, about: number): readonly number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return [low];
  const raw = span / Math.max(1, about);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) ?? raw;
  const list: number[] = [];
  for (let at = Math.ceil(low / step); at * step <= high + step * 1e-9 && list.length < 100; at += 1) {
    list.push(+(at * step).toPrecision(12));
  }
  return list;
}

/** Neighbours of a step among ascending ids, whether or not it is one of them. */
export const stepBefore = (ids: readonly number[], step: number): number | undefined =>
  ids.findLast((id) => id < step);
export const stepAfter = (ids: readonly number[], step: number): number | undefined =>
  ids.find((id) => id > step);

export function nearestStep(ids: readonly number[], step: number): number | undefined {
  let best: number | undefined;
  for (const id of ids) if (best === undefined || Math.abs(id - step) < Math.abs(best - step)) best = id;
  return best;
}
