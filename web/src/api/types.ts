// What the server answers, route by route. docs/http.md says what each field means; times are Unix seconds.

export interface Damage {
  readonly path: string;
  readonly lines: number;
  readonly first_byte: number;
  readonly reason: string;
}

export interface Capabilities {
  readonly has_metrics: boolean;
  readonly has_tokenizer: boolean;
  readonly has_timeline: boolean;
  readonly has_engine_series: boolean;
  readonly max_window_s: number;
  readonly use_utilization_overview: boolean;
}

export interface Meta {
  readonly mode: 'follow' | 'static';
  readonly run_name: string | null;
  readonly start_ts: number | null;
  readonly wandb_url: string | null;
  readonly data_buffer_length: number | null;
  readonly time_range: readonly [number, number] | null;
  readonly rollout_ids: { readonly train: readonly number[]; readonly eval: readonly number[] };
  readonly metric_keys: readonly string[];
  readonly engine_metric_keys: readonly string[];
  readonly step_keys: readonly string[];
  readonly capabilities: Capabilities;
  readonly damage: readonly Damage[];
  readonly version: string;
}

/** A logged value as it was logged; null is NaN, infinity or nothing. */
export type Logged = number | boolean | string | null;

export interface Series {
  readonly x: readonly number[];
  readonly y: readonly Logged[];
  /** Empty for `dump/*`. */
  readonly ts: readonly (number | null)[];
}

export type Metrics = Readonly<Record<string, Series>>;

export type Level = 'critical' | 'warning' | 'info';

export interface Finding {
  readonly rule: string;
  readonly level: Level;
  readonly message: string;
  readonly evidence?: Readonly<Record<string, unknown>>;
  readonly window?: readonly [number, number] | null;
  readonly rollout_id?: number | null;
  readonly hint?: string | null;
}

export interface Mfu {
  readonly latest: number;
  readonly mean: number | null;
  readonly steps: number;
  readonly peak: number | null;
}

export interface Advisory {
  readonly advisories: readonly Finding[];
  readonly findings: readonly Finding[];
  readonly mfu: Mfu | null;
}

export interface Lane {
  readonly node: string;
  readonly gpu: number;
  readonly index: number;
}

export interface Engine {
  readonly addr: string;
  readonly worker_type: string | null;
  readonly engine_rank: number | null;
  readonly gpus: readonly (readonly [string, number])[];
  readonly gpu_uuids: readonly (string | null)[] | null;
}

export interface Topology {
  readonly lanes: readonly Lane[];
  /** From one snapshot of the engines to the next; `t1` is null for the newest. */
  readonly windows: readonly {
    readonly t0: number;
    readonly t1: number | null;
    readonly engines: readonly Engine[];
  }[];
}

export interface Phase {
  readonly name: string;
  readonly t0: number;
  readonly t1: number;
  readonly node: string;
  readonly gpu: number;
  /** -1 of derived phases. */
  readonly rank: number;
  readonly role: string;
}

export interface Phases {
  readonly phases: readonly Phase[];
}

export interface GpuSeries {
  readonly ts: readonly number[];
  /** Percent. */
  readonly util: readonly (number | null)[];
  /** MiB. */
  readonly mem_mb: readonly (number | null)[];
  /** W. */
  readonly power_w: readonly (number | null)[];
}

export interface Gpu {
  /** By `node:gpu`. */
  readonly lanes: Readonly<Record<string, GpuSeries>>;
}

export interface GpuProcess {
  readonly ts: number;
  readonly node: string;
  readonly gpu: number;
  readonly pid: number | null;
  readonly name: string | null;
  readonly mem_mb: number | null;
}

export interface GpuProcesses {
  readonly processes: readonly GpuProcess[];
}

export interface Fleet {
  readonly t0: number;
  readonly t1: number;
  readonly x_buckets: number;
  readonly lanes: number;
  readonly palette: readonly string[];
  /** Fraction of the lanes in each phase, by bucket. */
  readonly composition: Readonly<Record<string, readonly number[]>>;
  readonly band: Readonly<Record<'p10' | 'p50' | 'p90' | 'min', readonly (number | null)[]>>;
}

export interface Outliers {
  /** Worst first; mean utilisation in percent, or mean duration in seconds. */
  readonly outliers: readonly { readonly node: string; readonly gpu: number; readonly score: number }[];
}

export interface EngineLine {
  readonly addr: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly ts: readonly number[];
  readonly value: readonly (number | null)[];
}

export interface EngineSeries {
  readonly series: readonly EngineLine[];
}

export interface Bubble {
  readonly step: number | null;
  readonly ts: number | null;
  readonly step_time: number | null;
  /** 0 to 1. */
  readonly wait_ratio: number | null;
}

export interface Bubbles {
  readonly bubbles: readonly Bubble[];
}

export interface SampleRow {
  readonly sample_index: number | null;
  readonly group_index: number | null;
  readonly status: string | null;
  readonly remove_sample: boolean | null;
  readonly response_length: number | null;
  readonly total_length: number | null;
  readonly reward: number | null;
  readonly weight_version: string | null;
  readonly weight_version_min: number | null;
  readonly mixed_version: boolean | null;
  readonly staleness: number | null;
  readonly turns: number | null;
  readonly tool_calls: number | null;
  readonly non_generation_time: number | null;
  readonly spec_accept_rate: number | null;
  readonly prefix_cache_hit_rate: number | null;
  readonly raw_reward: number | null;
  readonly normalized_reward: number | null;
  readonly truncated: boolean;
  readonly dumped_rank: number | null;
  readonly mean_entropy: number | null;
  readonly max_entropy: number | null;
  readonly ref_entropy_mean: number | null;
  readonly mean_abs_lp_diff: number | null;
  readonly max_abs_lp_diff: number | null;
  readonly mean_imp_ratio: number | null;
  readonly adv_mean: number | null;
  readonly adv_std: number | null;
  readonly return_mean: number | null;
  readonly alignment_failed: boolean;
}

export interface GroupRow {
  readonly group_index: number;
  readonly n: number;
  readonly reward_mean: number | null;
  readonly reward_std: number | null;
  readonly response_length_mean: number | null;
  readonly truncated_frac: number;
  readonly zero_std: boolean;
}

export interface Table<Row> {
  readonly rollout_id: number;
  readonly evaluation: boolean;
  /** In the order to show them; may name more than `Row` does. */
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
}

export interface Segment {
  readonly kind: 'gen' | 'tool';
  readonly t0: number | null;
  readonly t1: number | null;
  /** From 1; -1 of a span that covers all turns. */
  readonly turn: number;
  readonly weight_version: string | null;
}

export interface TrajectoryLane {
  readonly sample_index: number;
  readonly group_index: number | null;
  readonly first_ts: number;
  readonly last_ts: number;
  readonly segments: readonly Segment[];
  readonly attempts: readonly { readonly t0: number | null; readonly t1: number | null }[];
  readonly status: string | null;
  readonly versions: readonly number[];
}

export interface Trajectories {
  readonly lanes: readonly TrajectoryLane[];
  readonly consume_ts: number | null;
  readonly t0: number | null;
}

/** A message as it was recorded: nothing of it can be relied on. */
export type Message = Readonly<Record<string, unknown>>;

export interface Messages {
  readonly sample_index: number;
  readonly group_index?: number | null;
  readonly status?: string | null;
  readonly reward?: unknown;
  readonly prompt?: unknown;
  readonly messages?: readonly Message[];
}

/** The per-token series of a sample, over the response. */
export const TOKEN_SERIES = [
  'rollout_log_probs',
  'train_log_probs',
  'ref_log_probs',
  'lp_diff',
  'imp_ratio',
  'entropy',
  'ref_entropy',
  'advantages',
  'returns',
] as const;

export type TokenSeries = (typeof TOKEN_SERIES)[number];

export interface Tokens extends Readonly<Record<TokenSeries, readonly (number | null)[] | null>> {
  readonly rollout_id: number;
  readonly sample_index: number;
  readonly evaluation: boolean;
  readonly total_len: number;
  readonly prompt_len: number;
  readonly start: number;
  readonly end: number;
  /** Where in the slice the response begins. */
  readonly response_offset: number;
  readonly token_ids: readonly number[];
  readonly token_text: readonly (string | null)[] | null;
  readonly loss_mask: readonly number[] | null;
}

/** The telemetry streams that events name; `meta` is meta.json and the lane catalog. */
export type Stream =
  | 'meta'
  | 'metrics'
  | 'topology'
  | 'data_buffer'
  | 'phases'
  | 'gpu_util'
  | 'gpu_processes'
  | 'engine_series'
  | 'trajectories';
