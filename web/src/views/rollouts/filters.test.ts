import { describe, expect, it } from 'vitest';
import type { Row } from './columns';
import { filterRows, filtersCodec, parseFilter, rangeFilter, readRange } from './filters';

const rows = [
  { sample_index: 1, reward: 0, status: 'completed', truncated: false, mean_entropy: null },
  { sample_index: 2, reward: 0.5, status: 'truncated', truncated: true, mean_entropy: 0.2 },
  { sample_index: 3, reward: 1, status: 'completed', truncated: false, mean_entropy: 1 },
] as unknown as Row[];
const found = (filters: Record<string, string>): unknown[] =>
  filterRows(rows, filters).map((row) => row.sample_index);

describe('filters', () => {
  it('compare, take ranges, and leave what is missing out', () => {
    expect(found({ reward: '>0' })).toEqual([2, 3]);
    expect(found({ reward: '0..0.5' })).toEqual([1, 2]);
    expect(found({ reward: '..0.5', mean_entropy: '0.1..' })).toEqual([2]);
    expect(found({ mean_entropy: 'none' })).toEqual([1]);
    expect(found({ mean_entropy: '!=1' })).toEqual([2]);
    expect(found({ reward: '1' })).toEqual([3]);
  });

  it('look into text and at flags', () => {
    expect(found({ status: 'trunc' })).toEqual([2]);
    expect(found({ status: '!trunc' })).toEqual([1, 3]);
    expect(found({ status: '=completed' })).toEqual([1, 3]);
    expect(found({ truncated: 'yes' })).toEqual([2]);
  });

  it('that cannot be read say so and filter nothing', () => {
    expect(parseFilter('abc', 'number')).toHaveProperty('problem');
    expect(found({ reward: 'abc' })).toEqual([1, 2, 3]);
  });

  it('survive the address', () => {
    const filters = { status: 'a;b~c', reward: '>=1' };
    expect(filtersCodec.read(filtersCodec.write(filters))).toEqual(filters);
  });

  it('of a brush keep what was inside', () => {
    expect(readRange(rangeFilter(0.123456, 0.2))).toEqual([0.1234, 0.2]);
    const [low, high] = readRange(rangeFilter(0.00012345, 0.00012399)) ?? [0, 0];
    expect(low <= 0.00012345 && high >= 0.00012399).toBe(true);
    expect(readRange(rangeFilter(103.2, 70211.8))).toEqual([103, 70212]);
  });
});
