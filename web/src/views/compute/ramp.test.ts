import { describe, expect, it } from 'vitest';
import { css, inkOn, pixel, rampAt, rampTable, readRgb } from './ramp';

describe('ramps', () => {
  it('read what browsers write', () => {
    expect(readRgb('rgb(1, 2, 3)')).toEqual([1, 2, 3]);
    expect(readRgb('color(srgb 1 0.5 0)')).toEqual([255, 127.5, 0]);
    expect(readRgb('nothing')).toEqual([0, 0, 0]);
  });

  it('go through their stops and end at them', () => {
    const stops = [
      [0, 0, 0],
      [100, 0, 0],
      [100, 200, 0],
    ] as const;
    expect(rampAt(stops, 0)).toEqual([0, 0, 0]);
    expect(rampAt(stops, 0.25)).toEqual([50, 0, 0]);
    expect(rampAt(stops, 0.75)).toEqual([100, 100, 0]);
    expect(rampAt(stops, 2)).toEqual([100, 200, 0]);
    const table = rampTable(stops);
    expect(table[0]).toBe(0xff000000);
    expect(table[255]).toBe(pixel([100, 200, 0]));
  });

  it('say which ink is read on them', () => {
    expect(inkOn([255, 255, 255])).toBe('#000');
    expect(inkOn([20, 20, 90])).toBe('#fff');
    expect(css([1.4, 2.6, 3])).toBe('rgb(1 3 3)');
  });
});
