// A question that is kept answered: asked when it changes, asked again when its streams or step change, tried again
// when it failed. The last good answer stays until a newer one is there, so that nothing jumps.

import {
  batch,
  createComputed,
  createEffect,
  createMemo,
  createSignal,
  onCleanup,
  untrack,
  type Accessor,
} from 'solid-js';
import { stepVersion, streamVersion } from './events';
import { reportFailure, withdrawFailure } from './failures';
import { ApiError, lastAnswer, send, type ApiRequest } from './request';

export type QueryState =
  | 'idle' // nothing is asked
  | 'loading' // the first answer is under way
  | 'ready'
  | 'waiting' // 503: asked again by itself at retryAt
  | 'failed'; // asked again at retryAt where that can help

export interface Query<T> {
  /** The last good answer. While `isOld()`, it is that of the question before. */
  readonly data: Accessor<T | undefined>;
  readonly isOld: Accessor<boolean>;
  readonly error: Accessor<ApiError | undefined>;
  readonly state: Accessor<QueryState>;
  /** Milliseconds since 1970. */
  readonly retryAt: Accessor<number | undefined>;
  readonly retry: () => void;
}

export interface QueryOptions {
  /** Not asked again when its streams grow. */
  readonly once?: boolean;
  /** The answer of another question is not shown while this one's is under way. */
  readonly forget?: boolean;
  /** What was answered stays when nothing is asked any more. */
  readonly keep?: boolean;
  /** Failures are shown where the answer would be, not in the bar of the frame as well. */
  readonly quiet?: boolean;
}

/** At most this often, however fast a stream grows. */
const LEAST_PAUSE_MS = 2000;
/** A question may take a tenth of the server's time. */
const PAUSE_PER_MS = 10;
const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 30_000;

/** How long to wait before try number `tries` (from 1), in milliseconds. */
export function retryDelayMs(error: Pick<ApiError, 'status' | 'retryAfterS'>, tries: number): number {
  if (error.status === 503) return Math.max(1000, (error.retryAfterS ?? 1) * 1000);
  return Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** (tries - 1));
}

/** Keeps `request()` answered for as long as the owner lives; null asks nothing. */
export function createQuery<T>(
  request: Accessor<ApiRequest<T> | null | undefined>,
  options: QueryOptions = {},
): Query<T> {
  const [data, setData] = createSignal<T | undefined>();
  const [error, setError] = createSignal<ApiError>();
  const [state, setState] = createSignal<QueryState>('idle');
  const [retryAt, setRetryAt] = createSignal<number>();
  const [answered, setAnswered] = createSignal<string>();
  const current = createMemo(request, undefined, { equals: (a, b) => a?.path === b?.path });

  let abort: AbortController | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let tries = 0;
  let finishedAt = 0;
  let tookMs = 0;
  const id = {};

  const stop = (): void => {
    abort?.abort();
    abort = undefined;
    clearTimeout(timer);
    timer = undefined;
  };

  const succeed = (asked: ApiRequest<T>, answer: T): void => {
    tries = 0;
    batch(() => {
      setData(() => answer);
      setAnswered(asked.path);
      setError(undefined);
      setRetryAt(undefined);
      setState('ready');
    });
    withdrawFailure(id);
  };

  const fail = (asked: ApiRequest<T>, cause: unknown): void => {
    const problem = cause instanceof ApiError ? cause : new ApiError(String(cause), 0, asked.path);
    tries += 1;
    const delay = problem.isPassing ? retryDelayMs(problem, tries) : undefined;
    const at = delay === undefined ? undefined : Date.now() + delay;
    batch(() => {
      setError(problem);
      setRetryAt(at);
      setState(problem.isWaiting ? 'waiting' : 'failed');
    });
    if (options.quiet !== true) reportFailure(id, { what: asked.what, error: problem, retryAt: at, retry });
    if (delay !== undefined) timer = setTimeout(() => void run(asked), delay);
  };

  const run = async (asked: ApiRequest<T>): Promise<void> => {
    stop();
    const mine = new AbortController();
    abort = mine;
    const startedAt = performance.now();
    try {
      const answer = await send(asked, mine.signal);
      if (mine.signal.aborted) return;
      abort = undefined;
      succeed(asked, answer);
    } catch (cause) {
      if (mine.signal.aborted) return;
      abort = undefined;
      fail(asked, cause);
    }
    finishedAt = performance.now();
    tookMs = finishedAt - startedAt;
    if (wanted) soon(asked);
  };

  // A change of the data: now, or when the pause is over, or when what is under way is there.
  let wanted = false;
  const soon = (asked: ApiRequest<T>): void => {
    wanted = false;
    if (document.hidden) {
      wanted = true;
      return;
    }
    if (abort) {
      wanted = true;
      return;
    }
    const pause = Math.max(LEAST_PAUSE_MS, PAUSE_PER_MS * tookMs) - (performance.now() - finishedAt);
    clearTimeout(timer);
    timer = setTimeout(() => void run(asked), Math.max(0, pause));
  };

  const retry = (): void => {
    const asked = untrack(current);
    if (asked) void run(asked);
  };

  // Before effects, so that nobody sees the old state beside the new question.
  createComputed(() => {
    const asked = current();
    stop();
    tries = 0;
    wanted = false;
    withdrawFailure(id);
    batch(() => {
      setError(undefined);
      setRetryAt(undefined);
      if (!asked) {
        setState('idle');
        if (options.keep === true) return;
        setData(undefined);
        setAnswered(undefined);
        return;
      }
      const known = lastAnswer(asked);
      if (known !== undefined) {
        setData(() => known);
        setAnswered(asked.path);
      } else if (options.forget === true) {
        setData(undefined);
      }
      setState(known === undefined ? 'loading' : 'ready');
    });
    if (asked) void run(asked);
  });

  if (options.once !== true) {
    let first = true;
    let path: string | undefined;
    createEffect(() => {
      const asked = current();
      if (!asked) return;
      for (const stream of asked.streams) streamVersion(stream);
      if (asked.step !== undefined) stepVersion(asked.step);
      if (!first && path === asked.path) soon(asked);
      first = false;
      path = asked.path;
    });
    const shown = (): void => {
      const asked = untrack(current);
      if (!document.hidden && wanted && asked) soon(asked);
    };
    document.addEventListener('visibilitychange', shown);
    onCleanup(() => document.removeEventListener('visibilitychange', shown));
  }

  onCleanup(() => {
    stop();
    withdrawFailure(id);
  });

  return { data, isOld: () => answered() !== current()?.path, error, state, retryAt, retry };
}
