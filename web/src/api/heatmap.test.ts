import { describe, expect, it } from 'vitest';
import { decodeHeatmap, rowOf } from './heatmap';

function encoded(header: unknown, cells: number[]): ArrayBuffer {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const body = new Uint8Array(4 + text.length + cells.length);
  new DataView(body.buffer).setUint32(0, text.length, true);
  body.set(text, 4);
  body.set(cells, 4 + text.length);
  return body.buffer;
}

const header = {
  rows: [
    { node: 'é', gpu: 0, index: 0, roles: [] },
    { node: 'b', gpu: 1, index: 1, roles: ['train'] },
  ],
  x_buckets: 3,
  t0: 0,
  t1: 3,
  metric: 'util',
  scale: { max: 100 },
  palette: null,
};

describe('decodeHeatmap', () => {
  it('gives rows of cells after a header of any length', () => {
    const map = decodeHeatmap(encoded(header, [1, 2, 3, 4, 5, 6]));
    expect(map.rows[0]).toEqual({ node: 'é', gpu: 0, index: 0, roles: [] });
    expect([...rowOf(map, 1)]).toEqual([4, 5, 6]);
  });

  it('refuses an answer that is cut', () => {
    expect(() => decodeHeatmap(encoded(header, [1, 2, 3]))).toThrow('3 cells instead of 6');
    expect(() => decodeHeatmap(encoded(header, []).slice(0, 20))).toThrow('header is cut');
    expect(() => decodeHeatmap(new ArrayBuffer(2))).toThrow('cut');
  });
});
