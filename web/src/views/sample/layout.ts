// Where tokens stand: rows of a fixed-width page, broken at newlines, chunk by chunk, so that only what was loaded is
// laid out and nothing before it moves. Pure.

import { CHUNK, type TokenStore } from './tokens';

export interface Piece {
  readonly at: number;
  /** A part of the token's text where it spans rows. */
  readonly text: string;
  /** The row ends with this token's newline. */
  readonly newline: boolean;
}

/** Rows of a chunk as positions: row r holds tokens [starts[r], starts[r + 1]), offset[r] characters into the first. */
export interface ChunkRows {
  readonly starts: readonly number[];
  readonly offsets: readonly number[];
  readonly end: number;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|[\ud83c-\ud83e][\udc00-\udfff]/g;
// eslint-disable-next-line no-control-regex -- what is not ASCII
const NOT_ASCII = /[^\x00-\x7f]/;

/** Columns that text takes in a fixed-width font. */
export function columnsOf(text: string): number {
  if (!NOT_ASCII.test(text)) return text.length;
  const wide = text.match(WIDE)?.length ?? 0;
  return text.length + wide;
}

/** How many characters of `text` fit; at least one, and no half of a pair. */
function fitting(text: string, columns: number): number {
  const wide = columnsOf(text);
  const fits = wide <= columns ? text.length : Math.max(1, Math.floor((columns * text.length) / wide));
  const last = text.charCodeAt(fits - 1);
  return last >= 0xd800 && last <= 0xdbff ? (fits > 1 ? fits - 1 : Math.min(2, text.length)) : fits;
}

/** A token's text as it is laid out: what cannot be decoded is its id. */
export const shownText = (store: TokenStore, at: number): string =>
  store.text[at] ?? `⟨${store.ids[at] ?? 0}⟩`;

/** Lays out tokens [from, to), both within one chunk. The response begins on a row of its own. */
export function layoutChunk(store: TokenStore, from: number, to: number, columns: number): ChunkRows {
  const starts: number[] = [from];
  const offsets: number[] = [0];
  let used = 0;
  const breakAt = (at: number, offset: number): void => {
    starts.push(at);
    offsets.push(offset);
    used = 0;
  };
  for (let at = from; at < to; at += 1) {
    if (at === store.prompt && at > from && (starts.at(-1) !== at || offsets.at(-1) !== 0)) breakAt(at, 0);
    const text = shownText(store, at);
    let begin = 0;
    for (;;) {
      const line = text.indexOf('\n', begin);
      const end = line < 0 ? text.length : line;
      // A piece that does not fit goes to the next row; one that is wider than a row is cut. Only as much of it is
      // measured as a row can hold: a token may be megabytes long.
      for (;;) {
        const width = end - begin > columns ? Infinity : columnsOf(text.slice(begin, end));
        if (used + width <= columns) {
          used += width;
          break;
        }
        if (used > 0) breakAt(at, begin);
        else {
          begin += fitting(text.slice(begin, Math.min(end, begin + columns)), columns);
          if (begin >= end) {
            used = columns;
            break;
          }
          breakAt(at, begin);
        }
      }
      if (line < 0) break;
      begin = line + 1;
      if (begin < text.length) breakAt(at, begin);
      else if (at + 1 < to) breakAt(at + 1, 0);
      if (begin >= text.length) break;
    }
  }
  return { starts, offsets, end: to };
}

/** The pieces of one row. */
export function rowPieces(store: TokenStore, rows: ChunkRows, row: number): readonly Piece[] {
  const pieces: Piece[] = [];
  const first = rows.starts[row];
  if (first === undefined) return pieces;
  const next = rows.starts[row + 1] ?? rows.end;
  const nextOffset = rows.offsets[row + 1] ?? 0;
  const last = nextOffset > 0 ? next : next - 1;
  for (let at = first; at <= last; at += 1) {
    const text = shownText(store, at);
    const begin = at === first ? (rows.offsets[row] ?? 0) : 0;
    const end = at === next && nextOffset > 0 ? nextOffset : text.length;
    let piece = text.slice(begin, end);
    const newline = piece.endsWith('\n');
    if (newline) piece = piece.slice(0, -1);
    pieces.push({ at, text: piece, newline });
  }
  return pieces;
}

export interface Page {
  readonly chunks: readonly {
    readonly from: number;
    readonly to: number;
    /** Absent where it is not loaded: then `count` is a guess. */
    readonly rows: ChunkRows | undefined;
    /** Rows before it. */
    readonly top: number;
    readonly count: number;
  }[];
  readonly rows: number;
}

/** Tokens a row, until something is known. */
const GUESS = 14;

/** The page of tokens [from, to). `known` keeps chunks that were laid out at this width. */
export function layoutPage(
  store: TokenStore,
  [from, to]: readonly [number, number],
  columns: number,
  known: Map<string, ChunkRows>,
): Page {
  const chunks: Page['chunks'][number][] = [];
  let top = 0;
  let [rowsSeen, tokensSeen] = [0, 0];
  for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < to; chunk += 1) {
    const [a, b] = [Math.max(from, chunk * CHUNK), Math.min(to, store.total, (chunk + 1) * CHUNK)];
    let rows: ChunkRows | undefined;
    if (store.loaded[chunk] === 1) {
      const key = `${columns}:${a}:${b}`;
      rows = known.get(key) ?? layoutChunk(store, a, b, columns);
      known.set(key, rows);
      rowsSeen += rows.starts.length;
      tokensSeen += b - a;
    }
    const perRow = rowsSeen > 0 ? tokensSeen / rowsSeen : GUESS;
    const count = rows ? rows.starts.length : Math.max(1, Math.round((b - a) / perRow));
    chunks.push({ from: a, to: b, rows, top, count });
    top += count;
  }
  return { chunks, rows: top };
}

/** The row in which a token begins. */
export function rowOfToken(page: Page, at: number): number {
  const chunk = page.chunks.find((each) => at < each.to) ?? page.chunks.at(-1);
  if (!chunk) return 0;
  if (!chunk.rows) return chunk.top + Math.floor(((at - chunk.from) / (chunk.to - chunk.from)) * chunk.count);
  const { starts, offsets } = chunk.rows;
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    const start = starts[middle] ?? 0;
    // A row that begins inside of the token comes after its beginning.
    if (start < at || (start === at && offsets[middle] === 0)) low = middle;
    else high = middle - 1;
  }
  return chunk.top + low;
}

/** The chunk that a row belongs to. */
export const chunkOfRow = (page: Page, row: number): Page['chunks'][number] | undefined =>
  page.chunks.findLast((each) => each.top <= row) ?? page.chunks[0];

/** The first token of a row. */
export function tokenOfRow(page: Page, row: number): number {
  const chunk = chunkOfRow(page, row);
  if (!chunk) return 0;
  if (chunk.rows)
    return chunk.rows.starts[Math.min(row - chunk.top, chunk.rows.starts.length - 1)] ?? chunk.from;
  return chunk.from + Math.floor(((row - chunk.top) / chunk.count) * (chunk.to - chunk.from));
}
