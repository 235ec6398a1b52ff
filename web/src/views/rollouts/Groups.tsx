// The groups of a step; one that is opened shows its samples side by side.

import { createMemo, createResource, createSignal, For, onCleanup, onMount, Show, type JSX } from 'solid-js';
import type { GroupRow, StepRef } from '../../api';
import { Chip, Dialog, format, sortRows, VirtualTable, type Column, type Sort } from '../../kit';
import { href } from '../../state/router';
import { turnsOfMessages, turnsOfText, turnText } from '../sample/conversation';
import { fetchText } from '../sample/text';
import { visible } from '../sample/visible';
import { GROUP_TIPS, rewardOf, type Row } from './columns';

export function GroupsTable(props: {
  readonly groups: readonly GroupRow[];
  readonly rows: readonly Row[];
  readonly sort: readonly Sort[];
  readonly onSort: (sort: readonly Sort[]) => void;
  readonly height: number;
  readonly selected: number | null;
  readonly onOpen: (group: number) => void;
}): JSX.Element {
  const members = createMemo(() => {
    const all = new Map<number | null, Row[]>();
    for (const row of props.rows) {
      const list = all.get(row.group_index);
      if (list) list.push(row);
      else all.set(row.group_index, [row]);
    }
    return all;
  });
  const sorted = createMemo(() =>
    sortRows(
      props.groups,
      props.sort,
      (row, id) => (row as unknown as Record<string, number | boolean | null>)[id],
    ),
  );
  const column = (id: keyof GroupRow, width: number, cell: (row: GroupRow) => string): Column<GroupRow> => ({
    id,
    header: id,
    width,
    align: 'right',
    cell,
    tip: `${id}\n${GROUP_TIPS[id] ?? ''}`,
  });
  const columns = createMemo((): readonly Column<GroupRow>[] => [
    column('group_index', 120, (row) => format.cell(row.group_index)),
    column('n', 70, (row) => format.count(row.n)),
    column('reward_mean', 130, (row) => format.num(row.reward_mean)),
    column('reward_std', 120, (row) => format.num(row.reward_std)),
    {
      id: 'zero_std',
      header: 'zero_std',
      width: 130,
      tip: `zero_std\n${GROUP_TIPS.zero_std ?? ''}`,
      cell: (row) => (
        <Show when={row.zero_std} fallback={<span class="r-dim">no</span>}>
          <span class="r-flag">
            {row.n === 1
              ? 'group of one'
              : row.reward_mean === 0
                ? 'all 0'
                : row.reward_mean === 1
                  ? 'all 1'
                  : 'all equal'}
          </span>
        </Show>
      ),
    },
    {
      id: 'rewards',
      header: 'rewards',
      width: 190,
      canSort: false,
      tip: 'The reward of each sample of the group: filled above 0, empty at 0 and below, a dash where there is none. Removed samples are crossed out.',
      cell: (row) => (
        <span class="r-dots" aria-hidden="true">
          <For each={(members().get(row.group_index) ?? []).slice(0, 24)}>
            {(each) => {
              const reward = rewardOf(each);
              return (
                <i
                  classList={{
                    'r-dot-on': reward !== null && reward > 0,
                    'r-dot-none': reward === null,
                    'r-dot-removed': each.remove_sample === true,
                  }}
                />
              );
            }}
          </For>
        </span>
      ),
    },
    column('response_length_mean', 180, (row) => format.num(row.response_length_mean, 5)),
    column('truncated_frac', 130, (row) => format.percent(row.truncated_frac)),
  ]);
  return (
    <VirtualTable
      label="Groups"
      rows={sorted()}
      columns={columns()}
      rowKey={(row) => row.group_index}
      sort={props.sort}
      onSort={(sort) => props.onSort(sort)}
      onOpen={(row) => props.onOpen(row.group_index)}
      selected={props.selected ?? undefined}
      rowClass={(row) => (row.zero_std ? 'r-zero' : undefined)}
      height={props.height}
      empty={<p class="r-none">The step has no groups.</p>}
    />
  );
}

/** The samples of one group side by side: what differs, and what was written. */
export function GroupDialog(props: {
  readonly step: StepRef;
  readonly group: number | null;
  readonly rows: readonly Row[];
  readonly zero: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const members = createMemo(() => props.rows.filter((row) => row.group_index === props.group));
  return (
    <Dialog
      title={`Group ${props.group ?? ''}: ${format.plural(members().length, 'sample')}${props.zero ? ', zero-std' : ''}`}
      open={props.group !== null}
      onClose={() => props.onClose()}
      wide
    >
      <div class="r-side-by-side">
        <For each={members()}>
          {(row, at) => <Member step={props.step} row={row} first={members()[0]} at={at()} />}
        </For>
      </div>
    </Dialog>
  );
}

/** Characters of a response that are shown here; the sample's own view has all. */
const MOST_TEXT = 6000;

function Member(props: {
  readonly step: StepRef;
  readonly row: Row;
  readonly first: Row | undefined;
  readonly at: number;
}): JSX.Element {
  const stop = new AbortController();
  onCleanup(() => stop.abort());
  let card!: HTMLElement;
  const [seen, setSeen] = createSignal(false);
  onMount(() => {
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    });
    observer.observe(card);
    onCleanup(() => observer.disconnect());
  });
  const read = async ({ step, index }: { step: StepRef; index: number }): Promise<string> => {
    try {
      const found = await fetchText(step, index, stop.signal, 4000);
      if (found.from === 'nothing') return found.why;
      const turns =
        found.from === 'conversation'
          ? turnsOfMessages(found.messages)
          : turnsOfText(found.prompt, found.response);
      const response = turns.filter((turn) => !turn.isPrompt);
      return response.map(turnText).join('\n\n');
    } catch (cause) {
      return stop.signal.aborted ? '' : `Could not load the text: ${String(cause)}`;
    }
  };
  const [text] = createResource(() => {
    const index = props.row.sample_index;
    return seen() && index !== null ? { step: props.step, index } : undefined;
  }, read);
  const shown = (): string => visible((text() ?? '').slice(0, MOST_TEXT));
  return (
    <article class="r-member" ref={card}>
      <h3>
        <Show when={props.row.sample_index !== null} fallback="without an index">
          <a href={href({ view: 'sample', step: props.step, index: props.row.sample_index ?? 0 })}>
            sample {props.row.sample_index}
          </a>
        </Show>
        <Show when={props.at > 0 && props.first?.sample_index !== null && props.row.sample_index !== null}>
          <a
            class="r-member-compare"
            data-tip="Tokens of this sample beside those of the first"
            href={href(
              { view: 'sample', step: props.step, index: props.first?.sample_index ?? 0 },
              { tab: 'tokens', with: String(props.row.sample_index) },
            )}
          >
            tokens beside the first
          </a>
        </Show>
      </h3>
      <div class="r-chips">
        <Chip name="reward" tone={(rewardOf(props.row) ?? 0) > 0 ? 'good' : 'neutral'}>
          {format.num(rewardOf(props.row))}
        </Chip>
        <Chip tone={props.row.truncated ? 'warning' : 'neutral'}>{props.row.status ?? '–'}</Chip>
        <Show when={props.row.remove_sample}>
          <Chip tone="critical">removed</Chip>
        </Show>
        <Chip name="tokens">{format.count(props.row.response_length)}</Chip>
        <Chip name="adv">{format.num(props.row.adv_mean, 3)}</Chip>
        <Chip name="|lp diff|">{format.num(props.row.mean_abs_lp_diff, 3)}</Chip>
        <Chip name="stale">{format.num(props.row.staleness)}</Chip>
      </div>
      <div
        class="r-member-text"
        tabIndex={0}
        role="region"
        aria-label={`Response of sample ${props.row.sample_index ?? ''}`}
      >
        <Show when={!text.loading} fallback="Loading …">
          <bdi>{shown()}</bdi>
          <Show when={(text()?.length ?? 0) > MOST_TEXT}>
            <p class="k-muted">… cut here; the sample shows all.</p>
          </Show>
        </Show>
      </div>
    </article>
  );
}
