// The step in ten numbers. A tile that names a part of the samples filters the table to it.

import { createMemo, For, type JSX } from 'solid-js';
import type { GroupRow } from '../../api';
import { format, MISSING } from '../../kit';
import type { Row } from './columns';
import type { Filters } from './filters';
import { groupStats, stepStats } from './stats';

interface Tile {
  readonly name: string;
  readonly value: string;
  readonly note: string;
  readonly tip: string;
  readonly tone?: 'warning' | 'critical' | undefined;
  /** What a click filters to. */
  readonly filter?: readonly [string, string] | undefined;
  /** What a click opens instead. */
  readonly opens?: 'groups';
}

/** The rules of advisories: a quarter truncated, half of the groups dead. */
const MUCH_TRUNCATED = 0.25;
const MANY_DEAD = 0.5;

export function Tiles(props: {
  readonly rows: readonly Row[];
  readonly groups: readonly GroupRow[] | undefined;
  readonly evaluation: boolean;
  readonly filters: Filters;
  readonly onFilter: (id: string, expression: string) => void;
  readonly onGroups: () => void;
}): JSX.Element {
  const tiles = createMemo((): readonly Tile[] => {
    const s = stepStats(props.rows);
    const g = props.groups && groupStats(props.groups);
    const part = (n: number, of: number): string => (of === 0 ? MISSING : format.percent(n / of));
    const trained = !props.evaluation;
    return [
      {
        name: 'Samples',
        value: format.count(s.samples),
        note: s.removed > 0 ? `${s.removed} removed` : g ? format.plural(g.groups, 'group') : '',
        tip: 'Samples of the step. Removed ones take no part in training.',
        filter: s.removed > 0 ? ['remove_sample', 'yes'] : undefined,
      },
      {
        name: 'Reward mean',
        value: format.num(s.rewardMean),
        note: `± ${format.num(s.rewardStd, 3)}`,
        tip: `Mean of ${trained ? 'raw_reward' : 'reward'} over samples, and its spread (n − 1).`,
      },
      {
        name: 'Truncated',
        value: part(s.truncated, s.samples),
        note: format.plural(s.truncated, 'sample'),
        tip: 'Responses that hit the length limit.',
        tone: s.truncated >= MUCH_TRUNCATED * s.samples && s.truncated > 0 ? 'warning' : undefined,
        filter: s.truncated > 0 ? ['truncated', 'yes'] : undefined,
      },
      {
        name: 'Zero-std groups',
        value: g ? part(g.zero, g.groups) : MISSING,
        note: g ? `all 0: ${g.all0} · all 1: ${g.all1}${g.other > 0 ? ` · other: ${g.other}` : ''}` : '',
        tip: 'Groups whose rewards do not differ: all failed (too hard), all solved (too easy). They contribute no policy gradient; a KL term still contributes.',
        tone: g && g.zero >= MANY_DEAD * g.groups && g.zero > 0 ? 'warning' : undefined,
        opens: 'groups',
      },
      {
        name: 'Mixed version',
        value: part(s.mixed, s.versioned),
        note: format.plural(s.mixed, 'sample'),
        tip: 'Samples that more than one version of the weights wrote.',
        filter: s.mixed > 0 ? ['mixed_version', 'yes'] : undefined,
      },
      {
        name: 'Staleness',
        value: format.num(s.stalenessMean, 3),
        note: `max ${format.num(s.stalenessMax)}`,
        tip: 'Updates that the oldest weights of a sample lag behind the step: mean and greatest.',
        filter:
          s.stalenessMax !== null && s.stalenessMax > 0 ? ['staleness', `>=${s.stalenessMax}`] : undefined,
      },
      {
        name: 'Mean |lp diff|',
        value: format.num(s.lpDiffMean, 3),
        note: `max ${format.num(s.lpDiffMax, 3)}`,
        tip: 'How far the trainer’s log-probs are from the engine’s: mean over samples, and the greatest of one token.',
        filter:
          s.lpDiffMax !== null && s.lpDiffMax > 0
            ? ['max_abs_lp_diff', `>=${format.num(s.lpDiffMax * 0.5, 2)}`]
            : undefined,
      },
      {
        name: 'Entropy',
        value: format.num(s.entropyMean, 3),
        note: s.entropyMean === null ? '' : 'nats a token',
        tip: 'Mean entropy of the policy over unmasked response tokens.',
      },
      {
        name: 'Joined',
        value: part(s.joined, s.samples),
        note: s.unplaced > 0 ? `${s.unplaced} unplaced` : `${s.joined} of ${s.samples}`,
        tip: 'Samples for which the trainer dumped a row. Unplaced: its columns cannot be laid on the sample’s tokens.',
        tone: s.unplaced > 0 ? 'warning' : undefined,
        filter:
          s.unplaced > 0
            ? ['alignment_failed', 'yes']
            : s.joined < s.samples && s.joined > 0
              ? ['dumped_rank', 'none']
              : undefined,
      },
    ];
  });
  return (
    <ul class="r-tiles" aria-label="The step in numbers">
      <For each={tiles()}>
        {(tile) => {
          const inner = (
            <>
              <span class="r-tile-name">{tile.name}</span>
              <span class="r-tile-value">{tile.value}</span>
              <span class="r-tile-note">{tile.note}</span>
            </>
          );
          const on = (): boolean =>
            tile.filter !== undefined && props.filters[tile.filter[0]] === tile.filter[1];
          return (
            <li classList={{ [`r-tile-${tile.tone ?? 'plain'}`]: true }}>
              {tile.filter === undefined && tile.opens === undefined ? (
                <div class="r-tile" data-tip={tile.tip}>
                  {inner}
                </div>
              ) : (
                <button
                  type="button"
                  class="r-tile"
                  aria-pressed={tile.filter ? on() : undefined}
                  data-tip={`${tile.tip}\n${tile.opens ? 'Click: the groups.' : on() ? 'Click: all samples again.' : 'Click: only these samples.'}`}
                  onClick={() => {
                    if (tile.filter) props.onFilter(tile.filter[0], on() ? '' : tile.filter[1]);
                    else props.onGroups();
                  }}
                >
                  {inner}
                </button>
              )}
            </li>
          );
        }}
      </For>
    </ul>
  );
}
