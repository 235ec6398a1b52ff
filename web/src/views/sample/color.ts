// Colours of tokens by a series: which of the fixed steps a value gets, and what the steps mean. Pure.

import type { TokenSeries } from '../../api/types';

/** Steps at each side of a diverging scale, and of a sequential one. */
export const STEPS = 6;

export interface Scale {
  readonly kind: 'diverging' | 'sequential';
  /** Where the pale middle is, for diverging ones. */
  readonly center: number;
  /** Values from `low` to `high` take all steps; what is beyond takes the last. */
  readonly low: number;
  readonly high: number;
}

const CENTERS: Readonly<Partial<Record<TokenSeries, number>>> = { lp_diff: 0, imp_ratio: 1, advantages: 0 };

export const isDiverging = (name: TokenSeries): boolean => name in CENTERS;

/** At most this many values are looked at: a scale need not be exact. */
const MOST_LOOKED_AT = 20_000;

/** A scale for the values that are there: up to their 99th percentile, so that one outlier does not pale all others. */
export function scaleFor(name: TokenSeries, values: Float32Array): Scale {
  const center = CENTERS[name];
  const step = Math.max(1, Math.floor(values.length / MOST_LOOKED_AT));
  const there: number[] = [];
  for (let at = 0; at < values.length; at += step) {
    const value = values[at] ?? NaN;
    if (Number.isFinite(value)) there.push(center === undefined ? value : Math.abs(value - center));
  }
  there.sort((a, b) => a - b);
  const at = (share: number): number =>
    there[Math.min(there.length - 1, Math.floor(share * there.length))] ?? 0;
  if (center !== undefined) {
    const reach = at(0.99) || at(1) || 1;
    return { kind: 'diverging', center, low: center - reach, high: center + reach };
  }
  const [low, high] = [at(0.01), at(0.99)];
  return { kind: 'sequential', center: low, low, high: high > low ? high : low + 1 };
}

/** −STEPS to STEPS for diverging scales, 0 to STEPS for sequential ones; null of nothing. Log-probs are reversed:
 * what was unlikely stands out. */
export function stepOf(scale: Scale, name: TokenSeries, value: number): number | null {
  if (Number.isNaN(value)) return null;
  if (scale.kind === 'diverging') {
    const part = (value - scale.center) / (scale.high - scale.center);
    return Math.max(-STEPS, Math.min(STEPS, Math.round(part * STEPS)));
  }
  let part = (value - scale.low) / (scale.high - scale.low);
  if (name.endsWith('log_probs')) part = 1 - part;
  return Math.max(0, Math.min(STEPS, Math.round(part * STEPS)));
}

/** Class of a step, or nothing for the pale middle. */
export function stepClass(step: number | null): string {
  if (step === null || step === 0) return '';
  return step < 0 ? `s-n${-step}` : `s-p${step}`;
}
