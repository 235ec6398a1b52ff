// What could not be loaded just now, for the bar of the frame.

import { createSignal } from 'solid-js';
import type { ApiError } from './request';

export interface Failure {
  readonly what: string;
  readonly error: ApiError;
  /** Milliseconds since 1970; absent where only a person can try again. */
  readonly retryAt: number | undefined;
  readonly retry: () => void;
}

const [failures, setFailures] = createSignal<ReadonlyMap<object, Failure>>(new Map());
export { failures };

export function reportFailure(id: object, failure: Failure): void {
  setFailures((all) => new Map(all).set(id, failure));
}

export function withdrawFailure(id: object): void {
  setFailures((all) => {
    if (!all.has(id)) return all;
    const left = new Map(all);
    left.delete(id);
    return left;
  });
}
