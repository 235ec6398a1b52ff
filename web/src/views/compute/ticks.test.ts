import { describe, expect, it } from 'vitest';
import { ticks, tickStep, timeText } from './ticks';

describe('a time axis', () => {
  it('has whole steps that are far enough apart', () => {
    expect(tickStep([0, 1800], 1000)).toBe(300);
    expect(tickStep([0, 14_400], 1250)).toBe(1800);
    expect(tickStep([0, 2], 1000)).toBe(0.2);
  });

  it('counts from the start of the run', () => {
    expect(ticks([1000.5, 1600], 500, 1000).map((tick) => tick.label)).toEqual([
      '+0:02:00',
      '+0:04:00',
      '+0:06:00',
      '+0:08:00',
      '+0:10:00',
    ]);
  });

  it('goes before the start too', () => {
    expect(ticks([880, 1000], 200, 1000)[0]?.label).toBe('−0:02:00');
  });

  it('shows thousandths where they matter', () => {
    expect(timeText(1001.25, 1000, true)).toBe('+0:00:01.250');
  });
});
