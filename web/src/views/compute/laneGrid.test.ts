import { describe, expect, it } from 'vitest';
import { laneMap } from './laneGrid';

const lanes = (nodes: number, gpus: number): { node: string; gpu: number; index: number }[] =>
  Array.from({ length: nodes * gpus }, (_, index) => ({
    node: `n${Math.floor(index / gpus)}`,
    gpu: index % gpus,
    index,
  }));

describe('the map of lanes', () => {
  it('has a column a node and fits its width', () => {
    const grid = laneMap(lanes(128, 8), 1280);
    expect(grid.size).toBe(10);
    expect(grid.cells).toHaveLength(1024);
    expect(Math.max(...grid.cells.map((cell) => cell.x + grid.size))).toBeLessThanOrEqual(1280);
    expect(grid.at(15, 25)?.index).toBe(8 + 2);
    expect(grid.at(5000, 1)).toBeUndefined();
  });

  it('goes on below where nodes are too many', () => {
    const grid = laneMap(lanes(128, 8), 350);
    expect(Math.max(...grid.cells.map((cell) => cell.x + grid.size))).toBeLessThanOrEqual(350);
    expect(grid.height).toBeGreaterThan(2 * 8 * grid.size);
  });

  it('gives what a brush touches', () => {
    const grid = laneMap(lanes(9, 8), 1000);
    const chosen = grid.within({ left: 1, top: 1, width: grid.size, height: grid.size });
    expect(chosen.map((cell) => cell.index)).toEqual([0, 1, 8, 9]);
  });

  it('is walked with arrow keys and has edges', () => {
    const grid = laneMap(lanes(9, 8), 1000);
    expect(grid.move(undefined, 'ArrowDown')).toBe(0);
    expect(grid.move(0, 'ArrowDown')).toBe(1);
    expect(grid.move(0, 'ArrowRight')).toBe(8);
    expect(grid.move(0, 'ArrowLeft')).toBe(0);
    expect(grid.move(0, 'x')).toBeUndefined();
  });
});
