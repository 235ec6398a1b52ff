// Every route of the API as a function that makes a typed question. Nothing is sent here; see query.ts.

import { decodeHeatmap, type Heatmap, type HeatmapMetric } from './heatmap';
import type { ApiRequest, StepRef } from './request';
import type * as T from './types';

type Value = string | number | boolean | null | undefined;

export interface Window {
  readonly t0?: number | undefined;
  readonly t1?: number | undefined;
}

export interface LaneWindow extends Window {
  /** The selector grammar, such as `g:0-7,rank:3`; all lanes without it. */
  readonly lanes?: string | undefined;
}

/** A query with what is absent left out, and the characters of selectors as they are. */
export function queryText(values: Readonly<Record<string, Value>>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    const text = value === true ? '1' : String(value);
    parts.push(`${name}=${encodeURIComponent(text).replace(/%(2C|3A|2F)/g, decodeURIComponent)}`);
  }
  return parts.length ? `?${parts.join('&')}` : '';
}

const json = async <A>(response: Response): Promise<A> => (await response.json()) as A;

function ask<A>(
  path: string,
  what: string,
  streams: readonly T.Stream[],
  values: Readonly<Record<string, Value>> = {},
  step?: StepRef | 'any',
): ApiRequest<A> {
  const base = { path: path + queryText(values), what, streams, decode: json<A> };
  return step === undefined ? base : { ...base, step };
}

export const stepName = (step: StepRef): string => `${step.evaluation ? 'eval step' : 'step'} ${step.id}`;

/** What the run is. It names its newest time, so every stream changes it. */
export const meta = (): ApiRequest<T.Meta> =>
  ask(
    'meta',
    'the run',
    [
      'meta',
      'metrics',
      'topology',
      'data_buffer',
      'phases',
      'gpu_util',
      'gpu_processes',
      'engine_series',
      'trajectories',
    ],
    {},
    'any',
  );

export const metrics = (keys: readonly string[], x: string, window: Window = {}): ApiRequest<T.Metrics> =>
  ask(
    'metrics',
    keys.length === 1 ? (keys[0] ?? 'a metric') : `${keys.length} metrics`,
    ['metrics'],
    { keys: keys.join(','), x, ...window },
    keys.some((key) => key.startsWith('dump/')) ? 'any' : undefined,
  );

export const advisory = (window: Window = {}): ApiRequest<T.Advisory> =>
  ask(
    'advisory',
    'advisories',
    ['meta', 'metrics', 'phases', 'topology', 'engine_series'],
    { ...window },
    'any',
  );

export const topology = (): ApiRequest<T.Topology> =>
  ask('timeline/topology', 'lanes and engines', ['meta', 'topology', 'phases', 'gpu_util']);

export const phases = (window: LaneWindow): ApiRequest<T.Phases> =>
  ask('timeline/phases', 'phases', ['phases', 'topology'], { ...window });

export const gpu = (window: LaneWindow & { readonly max_points?: number }): ApiRequest<T.Gpu> =>
  ask('timeline/gpu', 'GPU readings', ['gpu_util'], { ...window });

export const gpuProcesses = (window: LaneWindow): ApiRequest<T.GpuProcesses> =>
  ask('timeline/gpu_processes', 'GPU processes', ['gpu_processes'], { ...window });

const HEATMAP_STREAMS: Readonly<Record<HeatmapMetric, readonly T.Stream[]>> = {
  util: ['gpu_util'],
  mem_mb: ['gpu_util'],
  power_w: ['gpu_util'],
  phase: ['phases', 'topology'],
  lifecycle: ['trajectories'],
};

export const heatmap = (
  metric: HeatmapMetric,
  window: LaneWindow & { readonly x_buckets?: number },
): ApiRequest<Heatmap> => ({
  ...ask<Heatmap>('timeline/heatmap', `the carpet of ${metric}`, HEATMAP_STREAMS[metric], {
    metric,
    ...window,
  }),
  decode: async (response) => decodeHeatmap(await response.arrayBuffer()),
});

export const fleet = (window: Window & { readonly x_buckets?: number }): ApiRequest<T.Fleet> =>
  ask('timeline/fleet', 'the fleet', ['gpu_util', 'phases', 'topology'], { ...window });

/** `lowest_util` or `slowest_phase:NAME`. */
export type Criterion = 'lowest_util' | `slowest_phase:${string}`;

export const outliers = (
  criterion: Criterion,
  window: Window & { readonly top_k?: number },
): ApiRequest<T.Outliers> =>
  ask('timeline/outliers', 'outliers', ['gpu_util', 'phases'], { criterion, ...window });

export const engineSeries = (
  metric: string,
  options: Window & { readonly max_points?: number; readonly per_dp_rank?: boolean } = {},
): ApiRequest<T.EngineSeries> =>
  ask('timeline/engine_series', metric, ['engine_series'], { metric, ...options });

export const bubbles = (): ApiRequest<T.Bubbles> => ask('timeline/bubbles', 'waiting by step', ['metrics']);

export const summary = (step: StepRef): ApiRequest<T.Table<T.SampleRow>> =>
  ask(
    `rollout/${step.id}/summary`,
    `samples of ${stepName(step)}`,
    [],
    { eval: step.evaluation },
    { ...step },
  );

export const groups = (step: StepRef): ApiRequest<T.Table<T.GroupRow>> =>
  ask(`rollout/${step.id}/groups`, `groups of ${stepName(step)}`, [], { eval: step.evaluation }, { ...step });

/** Only train steps have any. */
export const trajectories = (id: number, sampleIndex?: number): ApiRequest<T.Trajectories> =>
  ask(`rollout/${id}/trajectories`, `trajectories of step ${id}`, ['trajectories', 'metrics'], {
    sample_index: sampleIndex,
  });

export const messages = (step: StepRef, sampleIndex: number): ApiRequest<T.Messages> =>
  ask(
    `rollout/${step.id}/sample/${sampleIndex}/messages`,
    `the conversation of sample ${sampleIndex}`,
    [],
    { eval: step.evaluation },
    { ...step },
  );

/** Positions `[start, end)` of the whole sequence; all of it without them. */
export const tokens = (
  step: StepRef,
  sampleIndex: number,
  slice: { readonly start?: number; readonly end?: number } = {},
): ApiRequest<T.Tokens> =>
  ask(
    `rollout/${step.id}/sample/${sampleIndex}/tokens`,
    `tokens of sample ${sampleIndex}`,
    [],
    { ...slice, eval: step.evaluation },
    { ...step },
  );
