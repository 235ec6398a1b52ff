// Which lanes the selector means: asked from the server, whose grammar it is. Without a selector every lane of a small
// run and a spread of a large one, so that there is always something to see.

import { createMemo, type Accessor } from 'solid-js';
import { api, createQuery, isSample, type Query, type Heatmap } from '../../api';
import { run } from '../../state/run';
import type { ComputeState } from './state';

export interface LaneRef {
  readonly node: string;
  readonly gpu: number;
  readonly index: number;
  readonly roles: readonly string[];
}

const SHOWN_AT_FIRST = 8;

export interface Selected {
  readonly lanes: Accessor<readonly LaneRef[]>;
  readonly indices: Accessor<ReadonlySet<number>>;
  /** The selector in use; the reader's or the one that stands in for it. */
  readonly text: Accessor<string>;
  /** The reader has chosen nothing. */
  readonly isDefault: Accessor<boolean>;
  readonly query: Query<Heatmap>;
}

/** The selector of a run of `count` lanes where the reader gave none. */
export function defaultSelector(count: number): string {
  if (count <= SHOWN_AT_FIRST * 2) return 'all';
  return `every:${Math.ceil(count / SHOWN_AT_FIRST)}`;
}

export function createSelection(state: ComputeState): Selected {
  const isDefault = (): boolean => state.lanes() === '';
  const text = createMemo(() => (isDefault() ? defaultSelector(state.laneCount()) : state.lanes()));
  const start = createMemo(() => run.timeRange()?.[0]);
  // A second of the smallest carpet: its rows are the lanes.
  const query = createQuery(
    () => {
      const t0 = start();
      if (t0 === undefined || state.laneCount() === 0) return null;
      const asked = api.heatmap('util', { lanes: text(), t0, t1: t0 + 1, x_buckets: 2 });
      return { ...asked, what: 'the selected lanes', streams: ['meta', 'topology'] };
    },
    { quiet: true },
  );
  const lanes = createMemo(
    (): readonly LaneRef[] => query.data()?.rows.flatMap((row) => (isSample(row) ? [] : [row])) ?? [],
    undefined,
    { equals: (a, b) => a.length === b.length && a.every((lane, at) => lane.index === b[at]?.index) },
  );
  const indices = createMemo(() => new Set(lanes().map((lane) => lane.index)));
  return { lanes, indices, text, isDefault, query };
}
