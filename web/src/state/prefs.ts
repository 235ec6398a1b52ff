// What one reader likes and no link should carry: theme, what was folded, settings per category. In localStorage.

import { createSignal, type Accessor } from 'solid-js';

const PREFIX = 'miles.';

function stored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name) ?? 'null') as unknown;
  } catch {
    return null;
  }
}

/** A preference; `read` checks what was stored, by this version or another. */
export function createPref<T>(name: string, read: (stored: unknown) => T): [Accessor<T>, (value: T) => void] {
  const [value, setValue] = createSignal<T>(read(stored(name)));
  return [
    value,
    (next) => {
      setValue(() => next);
      try {
        localStorage.setItem(PREFIX + name, JSON.stringify(next));
      } catch {
        // Full or forbidden: it holds for this page.
      }
    },
  ];
}

/** A reader for one of a few words, the first by default. */
export const oneOf =
  <T extends string>(...words: readonly [T, ...T[]]) =>
  (value: unknown): T =>
    words.find((word) => word === value) ?? words[0];
