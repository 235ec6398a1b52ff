// The current address as signals, and the ways to change it. Back and forward work because every deliberate change is
// an entry of the history; zooming and typing replace the entry instead.

import { createMemo, createRoot, createSignal, untrack, type Accessor } from 'solid-js';
import { formatAddress, parseAddress, type Address, type Params, type Route, type View } from './address';

const [address, setAddress] = createSignal<Address>(parseAddress(location.hash));

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** The view and what it shows. */
export const route = createRoot(() => {
  const memo = createMemo((): Route => address().route, undefined, { equals: same });
  return memo;
});

/** The view's parameters. */
export const params = createRoot(() => {
  const memo = createMemo((): Params => address().params, undefined, { equals: same });
  return memo;
});

export { type Params, type Route, type View } from './address';

/** Where each view was left, for its tab. */
const left = new Map<View, Address>();

/** Browsers refuse more than some ten changes a second. */
const REPLACE_PAUSE_MS = 200;

let pending: 'push' | 'replace' | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;
/** The entry whose address is not written yet gets it before another one is pushed. */
let unwritten: Address | undefined;

function write(): void {
  clearTimeout(timer);
  timer = undefined;
  const how = pending;
  pending = undefined;
  if (how === undefined) return;
  const now = formatAddress(untrack(address));
  if (how === 'push' && now !== location.hash) {
    if (unwritten) history.replaceState(null, '', formatAddress(unwritten));
    history.pushState(null, '', now);
  } else if (now !== location.hash) {
    history.replaceState(null, '', now);
  }
  unwritten = undefined;
}

function change(next: Address, replace: boolean): void {
  const before = untrack(address);
  if (same(before, next)) return;
  left.set(next.route.view, next);
  if (!replace && pending !== 'push') {
    if (pending === 'replace') unwritten = before;
    pending = 'push';
    clearTimeout(timer);
    // Changes made together are one entry.
    queueMicrotask(write);
  } else if (pending === undefined) {
    pending = 'replace';
    timer = setTimeout(write, REPLACE_PAUSE_MS);
  }
  setAddress(next);
}

function read(): void {
  clearTimeout(timer);
  pending = undefined;
  unwritten = undefined;
  const next = parseAddress(location.hash);
  left.set(next.route.view, next);
  setAddress(next);
}

addEventListener('popstate', read);
addEventListener('hashchange', read);
addEventListener('pagehide', write);

export interface Change {
  /** Replaces the entry of the history: for zooming, typing, and what corrects itself. */
  readonly replace?: boolean;
}

/** Goes somewhere. The parameters are those of that view alone. */
export function navigate(to: Route, parameters: Params = {}, how: Change = {}): void {
  change({ route: to, params: parameters }, how.replace === true);
}

/** Goes to another route of the same view and keeps the parameters. */
export function navigateKeeping(to: Route, how: Change = {}): void {
  change({ route: to, params: untrack(address).params }, how.replace === true);
}

/** Changes some parameters; null or '' takes one out. */
export function setParams(
  values: Readonly<Record<string, string | null | undefined>>,
  how: Change = {},
): void {
  const { route: here, params: old } = untrack(address);
  const all: [string, string | null | undefined][] = Object.entries({ ...old, ...values });
  const set = all.filter((entry): entry is [string, string] => (entry[1] ?? '') !== '');
  // Sorted, so that one set of parameters has one address whatever the order in which they came.
  const sorted = Object.fromEntries(set.sort(([a], [b]) => (a < b ? -1 : 1)));
  change({ route: here, params: sorted }, how.replace === true);
}

/** For `<a href>`. */
export const href = (to: Route, parameters: Params = {}): string =>
  formatAddress({ route: to, params: parameters });

/** Where a view was left, for its tab. Tracked. */
export function lastAddress(view: Exclude<View, 'sample'>): string {
  address();
  const last = left.get(view);
  // A panel of the frame was not what was looked at.
  const kept = Object.entries(last?.params ?? {}).filter(([name]) => name !== 'panel');
  return formatAddress({ route: last?.route ?? { view }, params: Object.fromEntries(kept) });
}

/** Goes to a view as it was left. */
export function returnTo(view: Exclude<View, 'sample'>): void {
  location.hash = untrack(() => lastAddress(view));
}

/** How a value is written in the address. `undefined` for what cannot be read. */
export interface Codec<T> {
  readonly read: (text: string) => T | undefined;
  readonly write: (value: T) => string | null;
}

export const codecs = {
  text: { read: (text) => text, write: (value) => value } as Codec<string>,
  number: {
    read: (text) => (text !== '' && Number.isFinite(Number(text)) ? Number(text) : undefined),
    write: String,
  } as Codec<number>,
  flag: { read: (text) => text === '1', write: (value) => (value ? '1' : '0') } as Codec<boolean>,
  /** Comma between, for names without commas. */
  list: {
    read: (text) => (text === '' ? [] : text.split(',')),
    write: (value) => value.join(','),
  } as Codec<readonly string[]>,
  /** `[from, to]`, such as a zoom. */
  range: {
    read: (text) => {
      const [from, to, more] = text.split(',').map(Number);
      const good =
        Number.isFinite(from) && Number.isFinite(to) && more === undefined && (from ?? 0) < (to ?? 0);
      return good ? ([from, to] as [number, number]) : undefined;
    },
    write: ([from, to]) => `${+from.toFixed(3)},${+to.toFixed(3)}`,
  } as Codec<readonly [number, number]>,
  /** One of a few words. */
  choice: <T extends string>(...words: readonly T[]): Codec<T> => ({
    read: (text) => words.find((word) => word === text),
    write: (value) => value,
  }),
};

/** A parameter of the address as a signal. The fallback is what stands for its absence, and is not written. */
export function useParam<T>(
  name: string,
  codec: Codec<T>,
  fallback: T,
): [Accessor<T>, (value: T, how?: Change) => void] {
  const text = createMemo(() => params()[name]);
  const value = createMemo(
    () => {
      const written = text();
      return written === undefined ? fallback : (codec.read(written) ?? fallback);
    },
    undefined,
    { equals: same },
  );
  const set = (next: T, how: Change = {}): void => {
    setParams({ [name]: same(next, fallback) ? null : codec.write(next) }, how);
  };
  return [value, set];
}
