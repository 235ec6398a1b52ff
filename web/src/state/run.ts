// The run that is shown: one answer of /api/meta that everybody reads, and what follows from it.

import { createEffect, createMemo, createRoot, type Accessor } from 'solid-js';
import { api, createQuery, listen, type Meta, type StepRef } from '../api';

const NO_IDS: Meta['rollout_ids'] = { train: [], eval: [] };
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export const run = createRoot(() => {
  const query = createQuery(() => api.meta());
  const meta = query.data;
  createEffect(() => {
    if (meta()?.mode === 'follow') listen();
  });
  /** Each part moves only when it is another: newest time moves each second, the list of keys hardly ever. */
  const part = <T>(read: (meta: Meta) => T): Accessor<T | undefined> => {
    const value = createMemo<T | undefined>(
      () => {
        const known = meta();
        return known && read(known);
      },
      undefined,
      { equals: same },
    );
    return value;
  };
  const ids = part((m) => m.rollout_ids);
  /** The newest train step; of a run without any, the newest eval step. */
  const newestStep = createMemo<StepRef | undefined>(
    () => {
      const { train, eval: evals } = ids() ?? NO_IDS;
      const id = train.at(-1);
      if (id !== undefined) return { id, evaluation: false };
      const evalId = evals.at(-1);
      return evalId === undefined ? undefined : { id: evalId, evaluation: true };
    },
    undefined,
    { equals: same },
  );
  return {
    query,
    meta,
    name: part((m) => m.run_name),
    isLive: part((m) => m.mode === 'follow'),
    capabilities: part((m) => m.capabilities),
    timeRange: part((m) => m.time_range),
    metricKeys: part((m) => m.metric_keys),
    engineMetricKeys: part((m) => m.engine_metric_keys),
    stepKeys: part((m) => m.step_keys),
    damage: part((m) => m.damage),
    startTs: part((m) => m.start_ts),
    /** Steps that can be read, ascending. */
    ids: () => ids() ?? NO_IDS,
    newestStep,
  };
});
