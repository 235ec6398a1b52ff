// What the columns of a step's samples and groups mean, how they are shown, and which are shown at first. Pure.

import type { SampleRow } from '../../api';
import * as format from '../../kit/format';

/** A row may have more columns than we know. */
export type Row = SampleRow & Readonly<Record<string, unknown>>;

export type Kind = 'integer' | 'number' | 'fraction' | 'seconds' | 'boolean' | 'text';

export interface ColumnSpec {
  readonly id: string;
  readonly kind: Kind;
  /** In plain language. */
  readonly tip: string;
  /** Shown until somebody chooses. */
  readonly first: boolean;
}

const spec = (id: string, kind: Kind, first: boolean, tip: string): ColumnSpec => ({ id, kind, first, tip });

const KNOWN: readonly ColumnSpec[] = [
  spec(
    'sample_index',
    'integer',
    true,
    'Id of the sample, counted over the whole run. Trainer and engine are joined by it.',
  ),
  spec('group_index', 'integer', true, 'The prompt’s group: samples that were made from one prompt.'),
  spec('status', 'text', true, 'How generation ended: completed, truncated, aborted, failed.'),
  spec('remove_sample', 'boolean', false, 'Taken out of training: its loss mask is 0 throughout.'),
  spec('response_length', 'integer', true, 'Tokens of the response.'),
  spec('total_length', 'integer', false, 'Tokens of prompt and response.'),
  spec('reward', 'number', true, 'The sample’s reward as the rollout recorded it, if it is a number.'),
  spec('weight_version', 'text', false, 'Version of the weights that the last generation call used.'),
  spec(
    'weight_version_min',
    'integer',
    true,
    'Oldest version of the weights among the sample’s generation calls.',
  ),
  spec('mixed_version', 'boolean', true, 'More than one version of the weights wrote this sample.'),
  spec(
    'staleness',
    'integer',
    true,
    'Step − weight_version_min: how many updates the oldest weights lag. Negative after a failover.',
  ),
  spec('turns', 'integer', true, 'Generation calls.'),
  spec(
    'tool_calls',
    'integer',
    true,
    'Messages with the role tool in the prompt; missing for a plain text prompt.',
  ),
  spec(
    'non_generation_time',
    'seconds',
    false,
    'Seconds in which the model did not generate: tools, environment, queues.',
  ),
  spec(
    'spec_accept_rate',
    'fraction',
    false,
    'Of the drafted tokens those that were accepted; missing when nothing was drafted.',
  ),
  spec('prefix_cache_hit_rate', 'fraction', true, 'Of the prompt tokens those found in the prefix cache.'),
  spec(
    'raw_reward',
    'number',
    true,
    'Reward as the trainer read it, before normalisation. Missing without a train row.',
  ),
  spec('normalized_reward', 'number', false, 'Reward after normalisation within the group.'),
  spec(
    'truncated',
    'boolean',
    true,
    'The response hit the length limit: the train row’s flag, else the status.',
  ),
  spec(
    'dumped_rank',
    'integer',
    false,
    'Lowest training rank that holds the row; missing where the trainer has none.',
  ),
  spec('mean_entropy', 'number', true, 'Mean entropy of the policy over unmasked response tokens, in nats.'),
  spec('max_entropy', 'number', false, 'Greatest entropy over unmasked response tokens, in nats.'),
  spec(
    'ref_entropy_mean',
    'number',
    false,
    'Mean entropy of the reference model over unmasked response tokens, in nats.',
  ),
  spec(
    'mean_abs_lp_diff',
    'number',
    true,
    'Mean |train − rollout log-prob| over unmasked tokens: how far trainer and engine disagree.',
  ),
  spec('max_abs_lp_diff', 'number', true, 'Greatest |train − rollout log-prob| of one unmasked token.'),
  spec(
    'mean_imp_ratio',
    'number',
    true,
    'Mean of exp(train − rollout log-prob): the importance ratio; 1 where both agree.',
  ),
  spec('adv_mean', 'number', true, 'Mean advantage over unmasked tokens.'),
  spec('adv_std', 'number', false, 'Spread of the advantage over unmasked tokens (n − 1).'),
  spec('return_mean', 'number', false, 'Mean return over unmasked tokens.'),
  spec(
    'alignment_failed',
    'boolean',
    false,
    'Columns of the trainer that cannot be placed on the sample’s tokens: their statistics are missing.',
  ),
];

const BY_ID = new Map(KNOWN.map((each) => [each.id, each]));

export const GROUP_TIPS: Readonly<Record<string, string>> = {
  group_index: 'The prompt’s group.',
  n: 'Samples of the group.',
  reward_mean: 'Mean reward: raw_reward of a train step, reward of an evaluation.',
  reward_std: 'Spread of the reward (n − 1).',
  response_length_mean: 'Mean tokens of the responses.',
  truncated_frac: 'Fraction of the samples that hit the length limit.',
  zero_std:
    'All rewards are equal, or the group has one sample: it contributes no policy gradient (a KL term still contributes).',
};

/** The column's description; one that is not known shows as what its values are. */
export function columnSpec(id: string, rows: readonly Row[] = []): ColumnSpec {
  const known = BY_ID.get(id);
  if (known) return known;
  const value = rows.find((row) => row[id] !== null && row[id] !== undefined)?.[id];
  const kind = typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : 'text';
  return { id, kind, first: true, tip: 'A column of this run’s own.' };
}

export const isNumeric = (kind: Kind): boolean => kind !== 'text' && kind !== 'boolean';

/** A cell as text. */
export function cellText(kind: Kind, value: unknown): string {
  if (value === null || value === undefined) return format.MISSING;
  if (kind === 'boolean') return value === true ? 'yes' : 'no';
  if (kind === 'fraction' && typeof value === 'number') return format.percent(value);
  if (kind === 'seconds' && typeof value === 'number') return format.duration(value);
  return format.cell(value);
}

/** A cell as a number to plot; booleans are 0 and 1. */
export function cellNumber(value: unknown): number | null {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (typeof value === 'string' && /^-?\d{1,15}$/.test(value)) return Number(value);
  return null;
}

/** The reward that training (or, in an evaluation, the run) looks at. */
export const rewardOf = (row: SampleRow): number | null => row.raw_reward ?? row.reward;
