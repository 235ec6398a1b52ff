// What a metric means, in one line. The run's own metrics have none; nothing is guessed from a name. Pure.

const EXACT: Readonly<Record<string, string>> = {
  'perf/step_time': 'seconds from one training step to the next',
  'perf/wait_time_ratio': 'share of the step in which training waited for samples',
  'perf/train_wait_time': 'seconds in which training waited for samples',
  'perf/rollout_time': 'seconds that generating the step’s samples took',
  'perf/train_time': 'seconds of training in the step, without waiting',
  'perf/actor_train_time': 'seconds of forward, backward and optimizer of the policy',
  'perf/actor_train_tflops': 'TFLOPS a GPU reached while the policy was trained',
  'perf/actor_train_mfu': 'model FLOPs utilisation of the policy’s training: reached over peak FLOPS',
  'perf/mfu_peak_tflops': 'peak TFLOPS of the hardware that MFU is measured against',
  'perf/data_preprocess_time': 'seconds in which samples were made into batches',
  'perf/log_probs_time': 'seconds in which the trainer recomputed the policy’s log-probs',
  'perf/ref_log_probs_time': 'seconds in which the reference model’s log-probs were computed',
  'perf/update_weights_time': 'seconds until the engines had the new weights',
  'perf/sleep_time': 'seconds in which memory was given up for the other side',
  'perf/wake_up_time': 'seconds in which memory was taken back',
  'perf/save_model_time': 'seconds in which a checkpoint was written',
  'perf/tokens_per_gpu_per_sec': 'tokens that a GPU processed in a second',
  'rollout/raw_reward': 'mean reward of the step’s samples, before normalisation',
  'rollout/rewards_mean': 'mean reward of the step’s samples',
  'rollout/rewards': 'mean reward after normalisation within groups',
  'rollout/advantages': 'mean advantage of the step’s tokens',
  'rollout/returns': 'mean return of the step’s tokens',
  'rollout/truncated_ratio': 'share of samples cut at the longest response',
  'rollout/waiting_samples': 'samples that waited in the buffer',
  'rollout/repetition_frac': 'share of samples that repeat themselves',
  'rollout/zero_std/count_0': 'groups in which every sample has reward 0: nothing to learn from',
  'rollout/zero_std/count_1': 'groups in which every sample has reward 1: nothing left to learn',
  'rollout/log_probs': 'mean log-prob of the tokens by the trainer’s policy',
  'rollout/ref_log_probs': 'mean log-prob of the tokens by the reference model',
  'rollout/rollout_log_probs': 'mean log-prob of the tokens as the engines reported it',
  'train/loss': 'the loss that is minimised, all terms together',
  'train/pg_loss': 'the policy gradient’s part of the loss',
  'train/pg_clipfrac': 'share of tokens whose ratio was clipped',
  'train/ppo_kl': 'approximate KL from the policy that generated to the one that is trained',
  'train/kl_loss': 'KL from the reference model, as it enters the loss',
  'train/entropy_loss': 'mean entropy of the policy over the tokens',
  'train/grad_norm': 'norm of the gradient before clipping',
  'train/skipped': 'whether the update was skipped',
  'train/train_rollout_logprob_abs_diff':
    'mean |trainer − engine| log-prob: how far the two sides disagree on the same tokens',
  'train/tis': 'mean truncated importance weight between trainer and engine',
  'train/tis_clipfrac': 'share of tokens whose importance weight was truncated',
  'dump/reward_mean': 'mean raw reward of the step’s samples',
  'dump/reward_std': 'spread of raw rewards over the step’s samples',
  'dump/response_length_mean': 'mean length of a response, tokens',
  'dump/truncated_frac': 'share of samples that were truncated',
  'dump/zero_std_group_frac':
    'share of groups whose rewards have no spread: they give no policy gradient (a KL term still does)',
  'dump/mean_abs_lp_diff': 'mean over samples of |trainer − engine| log-prob',
  'dump/mean_entropy': 'mean over samples of the policy’s entropy',
  'dump/mixed_version_frac': 'share of samples that more than one weight version generated',
  sglang_num_running_reqs: 'requests that the engine is generating for',
  sglang_num_queue_reqs: 'requests that wait in the engine’s queue',
  sglang_gen_throughput: 'tokens that the engine generates in a second',
  sglang_token_usage: 'share of the KV cache that is in use, 0 to 1',
  sglang_cache_hit_rate: 'share of prompt tokens found in the prefix cache, of the last prefill batch',
  sglang_max_running_requests: 'most requests that the engine takes on at a time',
  sglang_prompt_tokens_per_s: 'prompt tokens in a second, from the counter between scrapes',
  sglang_generation_tokens_per_s: 'generated tokens in a second, from the counter between scrapes',
  sglang_requests_per_s: 'requests finished in a second',
  sglang_aborted_requests_per_s: 'requests aborted in a second',
  sglang_ttft_mean_s: 'mean time to the first token of requests between two scrapes, seconds',
  sglang_inter_token_latency_mean_s: 'mean time between two tokens, seconds',
  sglang_time_per_output_token_mean_s: 'mean time an output token took, seconds',
  sglang_e2e_latency_mean_s: 'mean time from request to last token, seconds',
  sglang_kv_transfer_latency_ms: 'time to move a KV cache from a prefill to a decode engine, ms',
  sglang_kv_transfer_speed_gb_s: 'speed at which KV caches move between engines, GB/s',
};

const PATTERNS: readonly (readonly [RegExp, (match: readonly string[]) => string])[] = [
  [/^train\/lr-(.+)$/, ([, group = '']) => `learning rate of parameter group ${group}`],
  [/^eval\/(.+)-truncated_ratio$/, ([, name = '']) => `share of ${name}’s samples that were truncated`],
  [
    /^eval\/(.+)\/response_len\/(\w+)$/,
    ([, name = '', what = '']) => `${what} length of ${name}’s responses, tokens`,
  ],
  [/^rollout\/response_len(?:gth)?\/(\w+)$/, ([, what = '']) => `${what} length of a response, tokens`],
  [/^rollout\/total_lengths?$/, () => 'mean length of prompt and response, tokens'],
  [/^rollout\/response_lengths?$/, () => 'mean length of a response, tokens'],
  [/^rollout\/zero_std\/count_(.+)$/, ([, r = '']) => `groups in which every sample has reward ${r}`],
  [/^passrate\/pass@(\d+)$/, ([, k = '']) => `share of prompts that one of ${k} samples solves`],
  [/^eval\/([^/]+)$/, ([, name = '']) => `mean reward on ${name}`],
  [/^perf\/(.+)_time$/, ([, phase = '']) => `seconds that ${phase} took in the step`],
];

export function meaningOf(key: string): string | undefined {
  const exact = EXACT[key];
  if (exact !== undefined) return exact;
  for (const [pattern, say] of PATTERNS) {
    const match = pattern.exec(key);
    if (match) return say(match);
  }
  return undefined;
}

/** The unit of a metric's values, for axes and cards. */
export function unitOf(key: string): string {
  if (/_time$|_s$/.test(key) && !key.endsWith('_per_s')) return 's';
  if (key.endsWith('_ms')) return 'ms';
  if (/tokens_per_s$|gen_throughput$/.test(key)) return 'tok/s';
  if (key.endsWith('requests_per_s')) return 'req/s';
  if (key.endsWith('tflops')) return 'TFLOPS';
  if (/response_len|length_mean|total_length/.test(key)) return 'tok';
  return '';
}

/** Shares are shown from 0 on. */
export const isFraction = (key: string): boolean =>
  /(?:_ratio|_frac|clipfrac|_mfu|token_usage|cache_hit_rate|pass@\d+)$/.test(key);
