import { describe, expect, it } from 'vitest';
import { rowWindow } from './rows';

describe('rowWindow', () => {
  it('holds what is in sight and fills up to the whole height', () => {
    const { first, end, before, after } = rowWindow(5000, 26, 26_000, 400);
    expect(first).toBeLessThanOrEqual(1000);
    expect(end).toBeGreaterThanOrEqual(1016);
    expect(before + (end - first) * 26 + after).toBe(5000 * 26);
  });

  it('takes few rows, none, and a scroll beyond the end', () => {
    expect(rowWindow(3, 26, 0, 400)).toEqual({ first: 0, end: 3, before: 0, after: 0 });
    expect(rowWindow(0, 26, 0, 400)).toEqual({ first: 0, end: 0, before: 0, after: 0 });
    const beyond = rowWindow(10, 26, 1e6, 400);
    expect(beyond.end).toBe(10);
    expect(beyond.after).toBe(0);
  });
});
