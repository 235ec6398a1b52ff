// A sample's tokens: where what was loaded is kept, and which are the outliers. Pure but for its counter of changes.

import { TOKEN_SERIES, type Tokens, type TokenSeries } from '../../api/types';

/** Tokens of one request: some hundred milliseconds of work for the server, half a megabyte. */
export const CHUNK = 4096;

export interface TokenStore {
  readonly total: number;
  readonly prompt: number;
  readonly ids: Int32Array;
  readonly text: (string | null)[];
  /** The run has a tokenizer. */
  readonly hasText: boolean;
  /** Over the whole sequence; NaN in the prompt and where nothing is known. */
  readonly series: Readonly<Partial<Record<TokenSeries, Float32Array>>>;
  /** Over the whole sequence: 1 scored, 0 masked, 255 unknown. Absent without a train row. */
  readonly mask: Uint8Array | undefined;
  /** By chunk. */
  readonly loaded: Uint8Array;
}

/** Room for the sample that this slice is of. */
export function createStore(first: Tokens): TokenStore {
  const total = first.total_len;
  const series: Partial<Record<TokenSeries, Float32Array>> = {};
  for (const name of TOKEN_SERIES) if (first[name] !== null) series[name] = new Float32Array(total).fill(NaN);
  return {
    total,
    prompt: first.prompt_len,
    ids: new Int32Array(total),
    text: Array.from({ length: total }, () => null),
    hasText: first.token_text !== null,
    series,
    mask: first.loss_mask === null ? undefined : new Uint8Array(total).fill(255),
    loaded: new Uint8Array(Math.ceil(total / CHUNK)),
  };
}

/** Puts a slice in its place. */
export function fill(store: TokenStore, slice: Tokens): void {
  store.ids.set(slice.token_ids, slice.start);
  slice.token_text?.forEach((text, at) => (store.text[slice.start + at] = text));
  const from = slice.start + slice.response_offset;
  for (const [name, into] of Object.entries(store.series) as [TokenSeries, Float32Array][]) {
    slice[name]?.forEach((value, at) => (into[from + at] = value ?? NaN));
  }
  const { mask } = store;
  if (mask) slice.loss_mask?.forEach((value, at) => (mask[from + at] = value > 0 ? 1 : 0));
  for (let at = Math.floor(slice.start / CHUNK); at * CHUNK < slice.end; at += 1) {
    if (slice.start <= at * CHUNK && slice.end >= Math.min(store.total, (at + 1) * CHUNK))
      store.loaded[at] = 1;
  }
}

/** Chunks that are not there yet, those around `near` first. */
export function missingChunks(store: TokenStore, near: number): readonly number[] {
  const at = Math.floor(near / CHUNK);
  const list: number[] = [];
  store.loaded.forEach((there, chunk) => {
    if (there === 0) list.push(chunk);
  });
  return list.sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
}

export type Outlier = 'lp_diff' | 'imp_ratio';

/** How far a value is from where trainer and engine agree. */
export const distance = (by: Outlier, value: number): number =>
  by === 'lp_diff' ? Math.abs(value) : Math.abs(Math.log(Math.max(value, 1e-30)));

/** Positions of the `most` farthest tokens, in order of position. */
export function outliers(values: Float32Array | undefined, by: Outlier, most = 20): readonly number[] {
  if (!values) return [];
  // A small list that stays sorted: most tokens fail its last entry.
  const top: { readonly at: number; readonly far: number }[] = [];
  for (let at = 0; at < values.length; at += 1) {
    const value = values[at] ?? NaN;
    if (Number.isNaN(value)) continue;
    const far = distance(by, value);
    if (far === 0 || (top.length === most && far <= (top.at(-1)?.far ?? 0))) continue;
    let place = top.length;
    while (place > 0 && (top[place - 1]?.far ?? 0) < far) place -= 1;
    top.splice(place, 0, { at, far });
    if (top.length > most) top.pop();
  }
  return top.map(({ at }) => at).sort((a, b) => a - b);
}

/** The next of ascending positions after (or before) one; round at the ends. */
export function nextOf(positions: readonly number[], from: number | null, back: boolean): number | undefined {
  if (from === null) return back ? positions.at(-1) : positions[0];
  return back
    ? (positions.findLast((at) => at < from) ?? positions.at(-1))
    : (positions.find((at) => at > from) ?? positions[0]);
}
