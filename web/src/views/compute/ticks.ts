// Marks of a time axis: where they are and what they say.

import * as format from '../../kit/format';
import type { Span } from '../../kit/viewport';

export interface Tick {
  readonly t: number;
  readonly label: string;
}

const STEPS = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
  3600, 7200, 14_400, 28_800, 86_400,
];

/** Seconds between marks that are at least `least` pixels apart. */
export function tickStep(span: Span, pixels: number, least = 88): number {
  const wanted = ((span[1] - span[0]) / Math.max(1, pixels)) * least;
  return STEPS.find((step) => step >= wanted) ?? 86_400;
}

const HALF_MS = 0.0005;

/** A time as the reader wants it: since `origin`, or with undefined by the clock. */
export function timeText(t: number, origin: number | undefined, fine = false): string {
  if (origin === undefined) return format.clock(t + HALF_MS, fine);
  // To whole milliseconds: 2.999999 s is 3 s, on both sides of the start.
  const since = Math.round((t - origin) * 1000) / 1000;
  const text = format.since(since);
  if (!fine) return text;
  const whole = Math.abs(since);
  return `${text}.${String(Math.round((whole % 1) * 1000)).padStart(3, '0')}`;
}

/** Marks at whole steps since `origin`, or of the wall clock. */
export function ticks(span: Span, pixels: number, origin: number | undefined): Tick[] {
  const step = tickStep(span, pixels);
  const base = origin ?? new Date(span[0] * 1000).getTimezoneOffset() * 60;
  const marks: Tick[] = [];
  for (let n = Math.ceil((span[0] - base) / step - 1e-6); base + n * step <= span[1]; n += 1) {
    const t = base + n * step;
    marks.push({ t, label: timeText(t, origin, step < 1) });
  }
  return marks;
}
