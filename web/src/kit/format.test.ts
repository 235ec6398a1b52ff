import { describe, expect, it } from 'vitest';
import { cell, count, duration, memory, num, percent, short, since } from './format';

describe('formats', () => {
  it('never show a missing number as 0', () => {
    for (const missing of [null, undefined, NaN, Infinity]) {
      for (const format of [num, count, percent, short, duration, since, memory])
        expect(format(missing)).toBe('–');
    }
    expect(cell(null)).toBe('–');
  });

  it('keep about four digits and real minus signs', () => {
    expect([0, 7, -3, 0.53515625, -0.0006144681, 1767267900, 518.0128, 12.5].map((n) => num(n))).toEqual([
      '0',
      '7',
      '−3',
      '0.5352',
      '−0.0006145',
      '1.77e9',
      '518',
      '12.5',
    ]);
    expect([1.2e-7, 1e-6, 1e-20, 2e10].map((n) => num(n))).toEqual(['1.2e−7', '1e−6', '1e−20', '2e10']);
    expect(count(1234567)).toBe('1 234 567');
    expect([999, 12_300, 4_560_000].map(short)).toEqual(['999', '12.3k', '4.56M']);
  });

  it('say how long in the largest two units', () => {
    expect([0, 0.0004, 0.42, 4.256, 42.4, 200, 7500, 360_000].map(duration)).toEqual([
      '0 s',
      '400 µs',
      '420 ms',
      '4.26 s',
      '42 s',
      '3 m 20 s',
      '2 h 05 m',
      '4 d 4 h',
    ]);
    expect(since(723.4)).toBe('+0:12:03');
    expect(memory(81_920)).toBe('80 GiB');
    expect(percent(0.5625)).toBe('56.3 %');
  });
});
