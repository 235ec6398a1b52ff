// Training steps as spans of time, from what the metrics say of them.

import type { Bubble } from '../../api';

export interface Step {
  readonly id: number;
  readonly t0: number;
  readonly t1: number;
  readonly seconds: number | null;
  readonly wait: number | null;
}

/** Steps as spans of time, in order; one whose time is not known reaches back to the one before it. */
export function stepsOf(bubbles: readonly Bubble[]): Step[] {
  const steps: Step[] = [];
  for (const { step, ts, step_time: seconds, wait_ratio: wait } of bubbles) {
    if (step === null || ts === null) continue;
    const before = steps.at(-1)?.t1;
    steps.push({ id: step, t0: seconds === null ? (before ?? ts) : ts - seconds, t1: ts, seconds, wait });
  }
  return steps;
}
