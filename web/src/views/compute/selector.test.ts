import { describe, expect, it } from 'vitest';
import { compress, indicesOf, partsOf, toggleLane, withLanes, withoutLanes } from './selector';

describe('selectors', () => {
  it('have parts without blanks and repetitions', () => {
    expect(partsOf(' g:1, ,rank:0-7,g:1')).toEqual(['g:1', 'rank:0-7']);
    expect(partsOf('')).toEqual([]);
  });

  it('name runs of lanes as ranges', () => {
    expect(compress([5, 0, 2, 1, 9, 2])).toBe('g:0-2,g:5,g:9');
    expect(compress([])).toBe('');
    expect(indicesOf('g:3-5')).toEqual([3, 4, 5]);
    expect(indicesOf('g:4')).toEqual([4]);
    expect(indicesOf('rank:4')).toBeUndefined();
    expect(indicesOf('g:0-99999999')).toBeUndefined();
    expect(indicesOf('g:5-3')).toBeUndefined();
  });

  it('take lanes in beside what they name otherwise', () => {
    expect(withLanes('node:a,g:1', [2, 3])).toBe('node:a,g:1-3');
    expect(withLanes('', [7])).toBe('g:7');
  });

  it('give lanes up, even from the middle of a range or of a node', () => {
    expect(withoutLanes('g:0-4', new Set([2]), [0, 1, 2, 3, 4])).toBe('g:0-1,g:3-4');
    expect(withoutLanes('node:a', new Set([8]), [8, 9, 10])).toBe('g:9-10');
  });

  it('toggle a lane', () => {
    expect(toggleLane('g:0', 1, [0])).toBe('g:0-1');
    expect(toggleLane('g:0-1', 1, [0, 1])).toBe('g:0');
    expect(toggleLane('rank:3', 3, [3, 4])).toBe('g:4');
  });
});
