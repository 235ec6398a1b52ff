import { describe, expect, it } from 'vitest';
import { clamp, covers, panBy, withMargin, zoomAt, type Limits } from './viewport';

const limits: Limits = { full: [0, 1000], least: 10, most: 400 };

describe('viewport', () => {
  it('zooms so that what is under the pointer stays there', () => {
    const [from, to] = zoomAt([100, 300], 0.5, 150, limits);
    expect(to - from).toBe(100);
    expect((150 - from) / (to - from)).toBeCloseTo(0.25);
  });

  it('is never narrower, wider or further than allowed', () => {
    expect(zoomAt([100, 300], 0.001, 200, limits)).toEqual([195, 205]);
    expect(zoomAt([100, 300], 100, 200, limits)).toEqual([0, 400]);
    expect(panBy([100, 300], 5000, limits)).toEqual([800, 1000]);
    expect(clamp([-50, 5], limits)).toEqual([0, 55]);
    expect(clamp([0, 100], { full: [0, 4], least: 10, most: 400 })).toEqual([0, 4]);
  });

  it('asks with a margin that the widest window allows', () => {
    expect(withMargin([100, 300], 0.5, [0, 1000], 1000)).toEqual([0, 400]);
    expect(withMargin([100, 300], 0.5, [0, 1000], 240)).toEqual([80, 320]);
    expect(covers([80, 320], [90, 310])).toBe(true);
    expect(covers([80, 320], [70, 310])).toBe(false);
  });
});
