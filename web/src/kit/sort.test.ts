import { describe, expect, it } from 'vitest';
import { nextSort, readSort, sortRows, writeSort } from './sort';

describe('sorting', () => {
  it('is one text in the address', () => {
    expect(writeSort(readSort('-reward,sample_index'))).toBe('-reward,sample_index');
    expect(readSort('')).toEqual([]);
  });

  it('goes down, up and away by clicks, beside others with Shift', () => {
    const first = nextSort([], 'a', false);
    expect(writeSort(first)).toBe('-a');
    expect(writeSort(nextSort(first, 'a', false))).toBe('a');
    expect(writeSort(nextSort(readSort('a'), 'a', false))).toBe('');
    expect(writeSort(nextSort(first, 'b', true))).toBe('-a,-b');
    expect(writeSort(nextSort(readSort('-a,-b'), 'a', true))).toBe('a,-b');
    expect(writeSort(nextSort(readSort('a,-b'), 'a', true))).toBe('-b');
    expect(writeSort(nextSort(readSort('a,-b'), 'c', false))).toBe('-c');
  });

  it('puts what is missing last in both directions and leaves equals as they were', () => {
    const rows = [
      { i: 0, v: 2 },
      { i: 1, v: null },
      { i: 2, v: -1 },
      { i: 3, v: 2 },
    ];
    const order = (text: string): number[] =>
      sortRows(rows, readSort(text), (row, id) => row[id as 'i' | 'v']).map((row) => row.i);
    expect(order('v')).toEqual([2, 0, 3, 1]);
    expect(order('-v')).toEqual([0, 3, 2, 1]);
    expect(order('-v,-i')).toEqual([3, 0, 2, 1]);
  });
});
