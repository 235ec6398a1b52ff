import { describe, expect, it } from 'vitest';
import { groupStats, histogram, spread, ticks } from './stats';

describe('stats', () => {
  it('tell groups that all fail from groups that all succeed', () => {
    const group = (reward_mean: number | null, zero_std: boolean) => ({
      group_index: 0,
      n: 8,
      reward_mean,
      reward_std: 0,
      response_length_mean: 1,
      truncated_frac: 0,
      zero_std,
    });
    expect(
      groupStats([group(0, true), group(1, true), group(0.5, true), group(0.5, false), group(null, false)]),
    ).toEqual({
      groups: 5,
      zero: 3,
      all0: 1,
      all1: 1,
      other: 1,
    });
  });

  it('give no spread of one value', () => {
    expect(spread([1])).toBeNull();
    expect(spread([1, 3, null])).toBeCloseTo(Math.SQRT2);
  });

  it('bin whole numbers by themselves and count what is missing', () => {
    expect(histogram([0, 0, 2, null])).toEqual({ low: -0.5, width: 1, counts: [2, 0, 1], missing: 1 });
    expect(histogram([0, 0.5, 1], 2)?.counts).toEqual([1, 2]);
    expect(histogram([null])).toBeUndefined();
  });

  it('put ticks on round numbers', () => {
    expect(ticks(0, 1, 5)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
    expect(ticks(5, 5, 5)).toEqual([5]);
  });
});
