// The answers for the pieces of a window: each piece is a question of its own, kept for as long as the window needs it.

import { createMemo, mapArray, type Accessor } from 'solid-js';
import { createQuery, type ApiRequest } from '../../api';
import { pieceKey, pieceOf, type Piece } from './pieces';

export interface Loaded<T> extends Piece {
  readonly data: T;
}

export interface Pieces<T> {
  /** In the order to paint them: what is left of another resolution first, then those of this one. */
  readonly loaded: Accessor<readonly Loaded<T>[]>;
  /** Something of the window is under way and nothing stands for it. */
  readonly isLoading: Accessor<boolean>;
}

/** Keeps what was shown before only while what replaces it is under way, and no more than this many pieces of it. */
const MOST_OLD = 12;

/** `settledBefore`: pieces that end before it do not change any more, and are not asked for again. */
export function createPieces<T>(
  pieces: Accessor<readonly Piece[]>,
  request: (piece: Piece) => ApiRequest<T> | null,
  settledBefore: () => number,
): Pieces<T> {
  const keys = createMemo(() => pieces().map(pieceKey), undefined, {
    equals: (a, b) => a.length === b.length && a.every((key, at) => key === b[at]),
  });
  const questions = createMemo(
    mapArray(keys, (key) => {
      const piece = pieceOf(key);
      const settled = piece.t1 < settledBefore();
      const query = createQuery(() => {
        const asked = request(piece);
        return asked && settled ? { ...asked, streams: [] } : asked;
      });
      const loaded = createMemo((): Loaded<T> | undefined => {
        const data = query.data();
        return data === undefined ? undefined : { ...piece, data };
      });
      return { loaded, state: query.state };
    }),
  );
  const isLoading = createMemo(() =>
    questions().some((each) => each.loaded() === undefined && each.state() === 'loading'),
  );
  const loaded = createMemo((before: readonly Loaded<T>[]): readonly Loaded<T>[] => {
    const now = questions()
      .map((each) => each.loaded())
      .filter((each) => each !== undefined);
    if (!isLoading()) return now;
    const known = new Set(now.map(pieceKey));
    const old = before.filter((piece) => !known.has(pieceKey(piece)));
    return [...old.slice(-MOST_OLD), ...now];
  }, []);
  return { loaded, isLoading };
}
