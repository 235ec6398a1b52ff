import { describe, expect, it } from 'vitest';
import { fade, xExtent, yExtent } from './chart-options';

describe('axes', () => {
  it('have room around the data, and around a single point', () => {
    expect(xExtent(3, 3)).toEqual([2.5, 3.5]);
    expect(xExtent(0, 7)).toEqual([0, 7]);
    const [low, high] = yExtent(0, 100, false, [null, null]);
    expect([low, high]).toEqual([-6, 106]);
    expect(yExtent(0, 0, false, [null, null])).toEqual([-1, 1]);
    expect(yExtent(1e-6, 1.0000000000001e-6, false, [null, null])[0]).toBeCloseTo(9e-7, 12);
  });

  it('keep natural bounds only where the data is inside of them', () => {
    expect(yExtent(0.2, 0.4, false, [0, 1])).toEqual([0, 1]);
    expect(yExtent(0.2, 1.5, false, [0, 1])[1]).toBeGreaterThan(1.5);
    expect(yExtent(-1, 0.5, false, [0, null])[0]).toBeLessThan(-1);
  });

  it('are whole decades on a log axis', () => {
    expect(yExtent(0.02, 30, true, [null, null])).toEqual([0.01, 100]);
    expect(yExtent(1, 1, true, [null, null])).toEqual([1, 10]);
  });

  it('fade a colour whatever it was', () => {
    expect(fade('rgb(1, 2, 3)', 0.3)).toBe('rgba(1, 2, 3, 0.3)');
    expect(fade('rgba(1, 2, 3, 0.9)', 0.3)).toBe('rgba(1, 2, 3, 0.3)');
  });
});
