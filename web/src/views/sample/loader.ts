// Brings a sample's tokens: the part that is looked at first, then the rest, two requests at a time.

import { createSignal, onCleanup, createEffect, on, type Accessor } from 'solid-js';
import { api, type StepRef } from '../../api';
import { CHUNK, createStore, fill, missingChunks, type TokenStore } from './tokens';
import { fetchOnce } from './text';

export interface Loaded {
  /** The same object while it fills; `version` moves with every chunk. */
  readonly store: TokenStore;
  readonly version: number;
  readonly isComplete: boolean;
}

export interface Loader {
  readonly loaded: Accessor<Loaded | undefined>;
  readonly problem: Accessor<string | undefined>;
  readonly retry: () => void;
}

const AT_ONCE = 2;
/** Chunks of one request, but for the first. */
const RUN = 4;
const TELL_MS = 250;

/** `near`: the position that is looked at; not tracked. */
export function createLoader(sample: Accessor<{ step: StepRef; index: number }>, near: () => number): Loader {
  const [loaded, setLoaded] = createSignal<Loaded>();
  const [problem, setProblem] = createSignal<string>();
  let stop: AbortController | undefined;

  const run = async ({ step, index }: { step: StepRef; index: number }): Promise<void> => {
    stop?.abort();
    const mine = new AbortController();
    stop = mine;
    setProblem(undefined);
    try {
      const from = Math.max(0, Math.floor(near() / CHUNK) * CHUNK);
      const ask = (start: number, chunks = 1) =>
        fetchOnce(api.tokens(step, index, { start, end: start + chunks * CHUNK }), mine.signal);
      let first;
      try {
        first = await ask(from);
      } catch (cause) {
        // A place of another, longer sample.
        if (from === 0 || mine.signal.aborted) throw cause;
        first = await ask(0);
      }
      const store = createStore(first);
      fill(store, first);
      let version = 1;
      const tell = (): void => {
        version += 1;
        setLoaded({ store, version, isComplete: !store.loaded.includes(0) });
      };
      tell();
      const asked = new Set<number>();
      let told = performance.now();
      const worker = async (): Promise<void> => {
        for (;;) {
          const chunk = missingChunks(store, near()).find((each) => !asked.has(each));
          if (chunk === undefined || mine.signal.aborted) return;
          // With neighbours that are missing too: few answers, each worth the way.
          const run = [chunk];
          while (
            run.length < RUN &&
            store.loaded[chunk + run.length] === 0 &&
            !asked.has(chunk + run.length)
          ) {
            run.push(chunk + run.length);
          }
          for (const each of run) asked.add(each);
          fill(store, await ask(chunk * CHUNK, run.length));
          // Each tells everything that is drawn to look again.
          const now = performance.now();
          if (now - told > TELL_MS || !store.loaded.includes(0)) {
            told = now;
            tell();
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
    } catch (cause) {
      if (!mine.signal.aborted) setProblem(cause instanceof Error ? cause.message : String(cause));
    }
  };
  createEffect(
    on(sample, (now) => {
      setLoaded(undefined);
      void run(now);
    }),
  );
  onCleanup(() => stop?.abort());
  return { loaded, problem, retry: () => void run(sample()) };
}
