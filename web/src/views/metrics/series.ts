// What is drawn of a logged series: numbers only, one value a step, earlier attempts apart, smoothed. Pure.

import type { Logged, Series } from '../../api';

/** Flags are 0 and 1; text is no point. */
export const toNumber = (value: Logged): number | null => {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
};

/** Points in ascending order of x, as a chart wants them. */
export interface Points {
  readonly x: readonly number[];
  readonly y: readonly (number | null)[];
  /** Unix seconds of each point; null where none was logged. */
  readonly ts: readonly (number | null)[];
  /** The step of each point, also where x is time. */
  readonly step: readonly number[];
  /** Values of earlier attempts at the same x, which a restarted run logged again; null where there are none. */
  readonly earlier: readonly (number | null)[] | null;
  /** Points whose value is no number, as text. */
  readonly texts: number;
}

const EMPTY: Points = { x: [], y: [], ts: [], step: [], earlier: null, texts: 0 };

/** Over steps: where a run started again from a checkpoint, its newest attempt is the line and the others lie behind. */
export function overSteps(series: Series | undefined): Points {
  if (!series || series.x.length === 0) return EMPTY;
  const newest = new Map<number, number>();
  const before = new Map<number, number>();
  let texts = 0;
  series.x.forEach((x, at) => {
    if (typeof series.y[at] === 'string') texts += 1;
    const known = newest.get(x);
    if (known !== undefined) before.set(x, known);
    newest.set(x, at);
  });
  const steps = [...newest.keys()].sort((a, b) => a - b);
  const at = steps.map((x) => newest.get(x) ?? 0);
  const earlier = steps.map((x) => {
    const old = before.get(x);
    return old === undefined ? null : toNumber(series.y[old] ?? null);
  });
  return {
    x: steps,
    y: at.map((i) => toNumber(series.y[i] ?? null)),
    ts: at.map((i) => series.ts[i] ?? null),
    step: steps,
    earlier: before.size > 0 ? earlier : null,
    texts,
  };
}

/** Over wall clock: every point that has a time, attempts one after the other. */
export function overTime(series: Series | undefined): Points {
  if (!series) return EMPTY;
  const order: number[] = [];
  let texts = 0;
  series.ts.forEach((ts, at) => {
    if (ts === null) return;
    if (typeof series.y[at] === 'string') texts += 1;
    order.push(at);
  });
  const time = (at: number): number => series.ts[at] ?? 0;
  // Logged by several processes: nearly in order.
  order.sort((a, b) => time(a) - time(b));
  const unique = order.filter((at, i) => i === order.length - 1 || time(at) !== time(order[i + 1] ?? -1));
  return {
    x: unique.map(time),
    y: unique.map((at) => toNumber(series.y[at] ?? null)),
    ts: unique.map(time),
    step: unique.map((at) => series.x[at] ?? 0),
    earlier: null,
    texts,
  };
}

/** Exponential moving average with weight 0 to 1 on what was before, without the pull to 0 at the start. Gaps stay gaps. */
export function smooth(y: readonly (number | null)[], weight: number): (number | null)[] {
  let last = 0;
  let trust = 0;
  return y.map((value) => {
    if (value === null) return null;
    last = last * weight + value * (1 - weight);
    trust = trust * weight + (1 - weight);
    return last / trust;
  });
}

/** Whether two answers say the same of a metric, so that its chart need not be painted again. */
export function sameSeries(a: Series | undefined, b: Series | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  if (a.x.length !== b.x.length || a.ts.length !== b.ts.length) return false;
  // Lines are appended: the newest point is where they differ first.
  for (let i = a.x.length - 1; i >= 0; i -= 1) {
    if (a.x[i] !== b.x[i] || a.y[i] !== b.y[i] || a.ts[i] !== b.ts[i]) return false;
  }
  return true;
}

export interface Stats {
  readonly n: number;
  readonly last: number | null;
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
}

/** Of the points between two x, both included. */
export function stats(
  x: readonly number[],
  y: readonly (number | null)[],
  range: readonly [number, number] | undefined,
): Stats {
  let [n, sum] = [0, 0];
  let [min, max] = [Infinity, -Infinity];
  let last: number | null = null;
  x.forEach((at, i) => {
    const value = y[i];
    const isOutside = range !== undefined && (at < range[0] || at > range[1]);
    if (value === null || value === undefined || isOutside) return;
    n += 1;
    sum += value;
    last = value;
    min = Math.min(min, value);
    max = Math.max(max, value);
  });
  return n === 0 ? { n, last, min: null, max: null, mean: null } : { n, last, min, max, mean: sum / n };
}
