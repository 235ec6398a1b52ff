// Scraped engine series made ready for one chart: a common time axis, the mean of the engines, the worst of them. Pure.

import type { EngineLine } from '../../api';

/** From this many engines on, single ones are faint and the mean and the worst stand out. */
export const MANY_ENGINES = 8;

/** More lines than this are their outline: nobody can follow them, and each costs a pass over all points. */
export const MOST_LINES = 96;

export interface AlignedLine {
  readonly addr: string;
  /** `10.1.1.1:15000`, with the rank where ranks are apart. */
  readonly name: string;
  readonly rank: string | undefined;
  readonly y: readonly (number | null)[];
}

export interface Aligned {
  readonly x: readonly number[];
  readonly lines: readonly AlignedLine[];
}

/** An address without what all of them have. */
export const shortAddress = (addr: string): string => addr.replace(/^\w+:\/\//, '').replace(/\/$/, '');

/** Two scrapes further apart than this many usual pauses have a gap between them. */
const GAP_PAUSES = 3;

function median(values: number[]): number {
  values.sort((a, b) => a - b);
  return values[values.length >> 1] ?? 0;
}

/** The usual pause between two scrapes of one engine, seconds. */
export function usualPause(series: readonly EngineLine[]): number {
  const pauses: number[] = [];
  for (const { ts } of series) {
    for (let i = 1; i < ts.length; i += 1) pauses.push((ts[i] ?? 0) - (ts[i - 1] ?? 0));
  }
  return median(pauses);
}

/**
 * Puts series on one time axis. Engines of one scraper share their times, which are kept as they are; where they do not
 * (other strides, other scrapers) each value goes to the part of the window that it lies in.
 */
export function align(series: readonly EngineLine[], most: number): Aligned {
  const all = new Set<number>();
  let longest = 0;
  for (const { ts } of series) {
    longest = Math.max(longest, ts.length);
    for (const t of ts) all.add(t);
  }
  const times = [...all].sort((a, b) => a - b);
  const pause = usualPause(series);
  const shared = times.length <= Math.min(2 * most, 1.25 * longest + 8);
  const x = shared ? withGaps(times, pause) : grid(times, pause, most);
  return {
    x,
    lines: series.map((line) => ({ ...named(line), y: shared ? onTimes(line, x) : onGrid(line, x) })),
  };
}

function named({ addr, labels }: EngineLine): Pick<AlignedLine, 'addr' | 'name' | 'rank'> {
  const rank = labels.dp_rank;
  const rest = Object.entries(labels)
    .filter(([name]) => name !== 'dp_rank' && name !== 'engine_type')
    .map(([name, value]) => `${name}=${value}`);
  const parts = [shortAddress(addr), ...(rank === undefined ? [] : [`dp ${rank}`]), ...rest];
  return { addr, name: parts.join(' '), rank };
}

/** A time without values in each gap that all engines have, so that no line crosses it. */
function withGaps(times: readonly number[], pause: number): number[] {
  const x: number[] = [];
  for (const t of times) {
    const before = x.at(-1);
    if (before !== undefined && pause > 0 && t - before > GAP_PAUSES * pause) x.push((before + t) / 2);
    x.push(t);
  }
  return x;
}

function onTimes({ ts, value }: EngineLine, x: readonly number[]): (number | null)[] {
  const y = new Array<number | null>(x.length).fill(null);
  let at = 0;
  ts.forEach((t, i) => {
    while (at < x.length && (x[at] ?? Infinity) < t) at += 1;
    y[at] = value[i] ?? null;
  });
  return y;
}

/** Even parts, not finer than two scrapes: each has a value then. */
function grid(times: readonly number[], pause: number, most: number): number[] {
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0];
  const width = Math.max((last - first) / most, 2 * pause, 1e-3);
  // What lies at the very end belongs to the last part.
  const parts = Math.max(1, Math.ceil((last - first) / width));
  return Array.from({ length: parts }, (_, i) => first + (i + 0.5) * width);
}

/** The mean of what lies in each part. */
function onGrid({ ts, value }: EngineLine, x: readonly number[]): (number | null)[] {
  const width = (x[1] ?? 1) - (x[0] ?? 0);
  const first = (x[0] ?? 0) - width / 2;
  const sums = new Float64Array(x.length);
  const counts = new Uint32Array(x.length);
  ts.forEach((t, i) => {
    const v = value[i];
    const at = Math.min(x.length - 1, Math.floor((t - first) / width));
    if (v === null || v === undefined || at < 0) return;
    sums[at] = (sums[at] ?? 0) + v;
    counts[at] = (counts[at] ?? 0) + 1;
  });
  return Array.from(sums, (sum, i) => {
    const n = counts[i] ?? 0;
    return n === 0 ? null : sum / n;
  });
}

/** Whether more of a metric is worse: queues, latencies, aborts, a full cache. Of throughput and hits less is worse. */
export const moreIsWorse = (metric: string): boolean =>
  /queue|_mean_s$|latency|aborted|token_usage|retract|paused|pending|error|fail/.test(metric);

export const mean = (values: readonly (number | null)[]): number | null => {
  let [sum, n] = [0, 0];
  for (const value of values) {
    if (value === null) continue;
    sum += value;
    n += 1;
  }
  return n === 0 ? null : sum / n;
};

/** At each time the mean over the engines that reported. */
export function meanLine({ x, lines }: Aligned): (number | null)[] {
  return x.map((_, at) => mean(lines.map((line) => line.y[at] ?? null)));
}

/** The engine whose mean is worst, as an index; undefined without values. */
export function worst({ lines }: Aligned, metric: string): number | undefined {
  const sign = moreIsWorse(metric) ? 1 : -1;
  let found: number | undefined;
  let most = -Infinity;
  lines.forEach((line, at) => {
    const value = mean(line.y);
    if (value === null || sign * value <= most) return;
    most = sign * value;
    found = at;
  });
  return found;
}

/** Smallest and greatest value at each time, for more lines than can be drawn. */
export function outline({ x, lines }: Aligned): { low: (number | null)[]; high: (number | null)[] } {
  const low = new Array<number | null>(x.length).fill(null);
  const high = new Array<number | null>(x.length).fill(null);
  for (const { y } of lines) {
    y.forEach((value, at) => {
      if (value === null) return;
      const [l, h] = [low[at] ?? null, high[at] ?? null];
      if (l === null || value < l) low[at] = value;
      if (h === null || value > h) high[at] = value;
    });
  }
  return { low, high };
}
