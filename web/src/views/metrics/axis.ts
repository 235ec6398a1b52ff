// Axes that charts of this view have, and which step a point belongs to. Pure.

import type { Bubble, StepRef } from '../../api';

/** A step key such as `train/step`, or `time`. Charts of one axis share cursor and zoom; others never do. */
export type Axis = string;

/** The parameter of the address that holds an axis' zoom. */
export const zoomParam = (axis: Axis): string => `z_${axis.replace(/\/step$/, '')}`;

export const axisName = (axis: Axis): string => (axis === 'time' ? 'wall clock' : axis.replace('/', ' '));

export interface StepIds {
  readonly train: readonly number[];
  readonly eval: readonly number[];
}

export interface PointAt {
  readonly axis: Axis;
  /** The metric's own step key, also where the axis is time; absent for engines. */
  readonly stepKey?: string;
  readonly step?: number;
  readonly ts: number | null | undefined;
}

/**
 * The step that a point belongs to, and whether its dump is there. Rollout and eval steps are ids; a training step counts
 * updates, of which a rollout can have several, so it and a time belong to the rollout that was logged next.
 */
export function stepOf(
  point: PointAt,
  ids: StepIds,
  bubbles: readonly Bubble[],
): { readonly step: StepRef; readonly isThere: boolean } | undefined {
  const there = (id: number, evaluation: boolean) => ({
    step: { id, evaluation },
    isThere: (evaluation ? ids.eval : ids.train).includes(id),
  });
  if (point.stepKey === 'rollout/step' && point.step !== undefined) return there(point.step, false);
  if (point.stepKey === 'eval/step' && point.step !== undefined) return there(point.step, true);
  const { ts } = point;
  if (ts === null || ts === undefined) return undefined;
  let found: Bubble | undefined;
  for (const bubble of bubbles) {
    if (bubble.ts === null || bubble.step === null || bubble.ts < ts) continue;
    if (found?.ts === undefined || bubble.ts < (found.ts ?? Infinity)) found = bubble;
  }
  return found?.step === undefined || found.step === null ? undefined : there(found.step, false);
}
