// Moving among the steps of a run, train and eval apart. Pure.

import type { StepRef } from '../api/request';

export interface StepIds {
  readonly train: readonly number[];
  readonly eval: readonly number[];
}

const idsOf = (ids: StepIds, evaluation: boolean): readonly number[] => (evaluation ? ids.eval : ids.train);

/** Where `id` is or would be in an ascending list. */
export function lowerBound(list: readonly number[], id: number): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle] ?? Infinity) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The next step in a direction, also from one whose dump is gone. */
export function neighbour(ids: StepIds, from: StepRef, by: 1 | -1): StepRef | undefined {
  const list = idsOf(ids, from.evaluation);
  const at = lowerBound(list, from.id);
  const id = by < 0 ? list[at - 1] : list[list[at] === from.id ? at + 1 : at];
  return id === undefined ? undefined : { id, evaluation: from.evaluation };
}

/** The step that is nearest to an id; of two the newer. */
export function nearest(ids: StepIds, id: number, evaluation: boolean): StepRef | undefined {
  const list = idsOf(ids, evaluation);
  const at = lowerBound(list, id);
  const [before, after] = [list[at - 1], list[at]];
  if (after === undefined) return before === undefined ? undefined : { id: before, evaluation };
  const isAfter = before === undefined || after - id <= id - before;
  return { id: isAfter ? after : before, evaluation };
}

/** Steps around one, for a list that is not as long as the run: at most `most`, newest first. */
export function around(list: readonly number[], id: number | undefined, most: number): readonly number[] {
  const at = id === undefined ? list.length : lowerBound(list, id);
  const from = Math.max(0, Math.min(at - (most >> 1), list.length - most));
  return list.slice(from, from + most).reverse();
}
