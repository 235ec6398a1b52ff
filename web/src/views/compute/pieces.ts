// Which pieces of time to ask the server for: aligned to a grid, so that panning asks for the few that are new, going
// back asks for what is still kept, and of a growing run only the newest piece is asked for again.

import type { Span } from '../../kit/viewport';

/** Buckets a piece. */
export const PIECE = 512;

export interface Piece {
  readonly t0: number;
  readonly t1: number;
  /** Seconds. */
  readonly bucket: number;
  readonly buckets: number;
}

/** The least bucket of a ladder (…, 1, 1.5, 2, 3, 4, 6, 8, …) that is not below `seconds`. */
export function bucketAbove(seconds: number): number {
  const two = 2 ** Math.floor(Math.log2(seconds));
  return seconds <= two ? two : seconds <= 1.5 * two ? 1.5 * two : 2 * two;
}

/**
 * The bucket for a window on `pixels`: 0.7 to 1 a pixel, but not below `least`. While a gesture goes on the last one
 * stays as long as it looks bearable, so that zooming does not ask at every notch of the wheel.
 */
export function bucketFor(span: Span, pixels: number, least: number, last?: number): number {
  const pixel = (span[1] - span[0]) / Math.max(1, pixels);
  const wanted = Math.max(bucketAbove(pixel), bucketAbove(least));
  if (last !== undefined && last >= bucketAbove(least) && last > pixel * 0.45 && last < pixel * 4)
    return last;
  return wanted;
}

/** Shortest piece: a piece of a bucket below a millisecond would be no whole number of milliseconds. */
const LEAST_BUCKET = 1 / 256;

/** The pieces that cover a window, as far as there is data. */
export function piecesFor(span: Span, bucket: number, full: Span): Piece[] {
  const step = Math.max(bucket, LEAST_BUCKET);
  const length = step * PIECE;
  const from = Math.max(span[0], full[0]);
  const to = Math.min(span[1], full[1]);
  const pieces: Piece[] = [];
  for (let at = Math.floor(from / length); at * length <= to; at += 1) {
    pieces.push({ t0: at * length, t1: (at + 1) * length, bucket: step, buckets: PIECE });
  }
  return pieces;
}

/** One piece for the whole window, for answers whose rows are those of the window; it moves in steps of its margin. */
export function pieceAround(span: Span, pixels: number, full: Span, most: number): Piece {
  const width = span[1] - span[0];
  const grid = 2 ** Math.floor(Math.log2(Math.max(width, 1) / 4));
  let t0 = Math.floor(Math.max(span[0], full[0]) / grid) * grid;
  let t1 = Math.ceil(Math.min(span[1], full[1]) / grid) * grid;
  if (t1 - t0 > most) {
    t0 = Math.max(t0, span[0]);
    t1 = t0 + most;
  }
  const buckets = Math.min(2048, Math.max(64, Math.ceil(((t1 - t0) / width) * Math.min(pixels, 1024))));
  return { t0, t1, bucket: (t1 - t0) / buckets, buckets };
}

export const pieceKey = (piece: Piece): string => `${piece.t0} ${piece.t1} ${piece.buckets}`;

export function pieceOf(key: string): Piece {
  const [t0 = 0, t1 = 1, buckets = PIECE] = key.split(' ').map(Number);
  return { t0, t1, buckets, bucket: (t1 - t0) / buckets };
}
