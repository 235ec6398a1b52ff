import { describe, expect, it } from 'vitest';
import { bucketAbove, bucketFor, pieceAround, pieceKey, pieceOf, PIECE, piecesFor } from './pieces';

describe('pieces of time', () => {
  it('have buckets of a ladder', () => {
    expect([0.9, 1, 1.2, 1.6, 2.1, 3.5].map(bucketAbove)).toEqual([1, 1, 1.5, 2, 3, 4]);
    expect(bucketAbove(0.3)).toBe(0.375);
  });

  it('are at the resolution of the pixels, not finer than readings come', () => {
    expect(bucketFor([0, 1000], 1000, 0.1)).toBe(1);
    expect(bucketFor([0, 1000], 1000, 2)).toBe(2);
    for (const seconds of [60, 1800, 14_400]) {
      const bucket = bucketFor([0, seconds], 1250, 0.001);
      const perPixel = seconds / 1250 / bucket;
      expect(perPixel).toBeGreaterThan(0.66);
      expect(perPixel).toBeLessThanOrEqual(1);
    }
  });

  it('keep their resolution while a gesture goes on, within reason', () => {
    expect(bucketFor([0, 1100], 1000, 0.1, 1)).toBe(1);
    expect(bucketFor([0, 3000], 1000, 0.1, 1)).toBe(3);
  });

  it('cover the window on a grid, and nothing outside of the data', () => {
    const full = [0, 100_000] as const;
    const pieces = piecesFor([4500, 6500], 1, full);
    expect(pieces[0]?.t0).toBe(PIECE * 8);
    expect(pieces.at(-1)?.t1).toBeGreaterThanOrEqual(6500);
    pieces.forEach((piece, at) => expect(piece.t0).toBe(pieces[at - 1]?.t1 ?? piece.t0));
    // A pan by a little asks for the same ones.
    expect(piecesFor([4510, 6510], 1, full).map(pieceKey)).toEqual(pieces.map(pieceKey));
    expect(piecesFor([0, 1000], 1, [200, 900])).toHaveLength(2);
  });

  it('can be one for the whole window, never above the limit', () => {
    const piece = pieceAround([1000, 15_400], 1250, [0, 50_000], 14_400);
    expect(piece.t1 - piece.t0).toBeLessThanOrEqual(14_400);
    const small = pieceAround([1010, 1900], 1000, [0, 50_000], 14_400);
    expect(small.t0).toBeLessThanOrEqual(1010);
    expect(small.t1).toBeGreaterThanOrEqual(1900);
  });

  it('survive as keys', () => {
    const [piece] = piecesFor([5000, 6000], 0.375, [0, 1e5]);
    expect(piece && pieceOf(pieceKey(piece))).toEqual(piece);
  });
});
