// The view Sample: one trajectory. What it came to, what happened when, what was said, and every token with its numbers.

import { createMemo, For, lazy, Match, Show, Switch, type JSX } from 'solid-js';
import { api, createQuery, type StepRef } from '../../api';
import { Chip, Empty, format, IconButton, Select, Tabs } from '../../kit';
import { useKeys } from '../../state/keys';
import { codecs, href, navigate, params, route, useParam } from '../../state/router';
import { rewardOf, type Row } from '../rollouts/columns';
import { Conversation } from './Conversation';
import { Lifecycle } from './Lifecycle';
import './sample.css';

const TokensPane = lazy(() => import('./TokensPane').then((part) => ({ default: part.TokensPane })));

type Tab = 'conversation' | 'tokens';

export default function Sample(): JSX.Element {
  const at = createMemo(() => {
    const here = route();
    return here.view === 'sample' ? here : undefined;
  });
  return <Show when={at()}>{(here) => <One step={here().step} index={here().index} />}</Show>;
}

function One(props: { readonly step: StepRef; readonly index: number }): JSX.Element {
  const summary = createQuery(() => api.summary(props.step));
  const [tab, setTab] = useParam<Tab>('tab', codecs.choice('conversation', 'tokens'), 'conversation');
  const [beside, setBeside] = useParam<number | null>('with', codecs.number as never, null);
  const rows = createMemo(() => (summary.data()?.rows ?? []) as readonly Row[]);
  const row = createMemo(() => rows().find((each) => each.sample_index === props.index));
  const group = createMemo(() => {
    const own = row();
    return own?.group_index === undefined || own.group_index === null
      ? rows()
      : rows().filter((each) => each.group_index === own.group_index);
  });
  const place = (): number => group().findIndex((each) => each.sample_index === props.index);
  const go = (by: number): void => {
    const next = group()[place() + by]?.sample_index;
    if (next === null || next === undefined || place() < 0) return;
    // A place among tokens belongs to its sample.
    const kept = Object.entries(params()).filter(([name]) => !/^(?:t|tok)2?$/.test(name));
    navigate({ view: 'sample', step: props.step, index: next }, Object.fromEntries(kept));
  };
  useKeys('Sample', [
    { keys: ['j'], what: 'next sample of the group', run: () => go(1) },
    { keys: ['k'], what: 'previous sample of the group', run: () => go(-1) },
    { keys: ['c'], what: 'conversation', run: () => setTab('conversation') },
    { keys: ['x'], what: 'tokens', run: () => setTab('tokens') },
    { keys: ['n'], what: 'next outlier (in tokens)' },
    { keys: ['p'], what: 'previous outlier (in tokens)' },
  ]);
  const others = (): readonly { value: string; label: string }[] => [
    { value: '', label: 'no other' },
    ...group()
      .filter((each) => each.sample_index !== null && each.sample_index !== props.index)
      .map((each) => ({
        value: String(each.sample_index),
        label: `${each.sample_index}, reward ${format.num(rewardOf(each), 3)}`,
      })),
  ];
  return (
    <div class="s-view">
      <header class="s-head">
        <nav class="s-crumbs" aria-label="Where this is">
          <a href={href({ view: 'rollouts', step: props.step })}>
            {props.step.evaluation ? 'Eval step' : 'Step'} {props.step.id}
          </a>
          <Show when={row()?.group_index !== null && row()?.group_index !== undefined}>
            <span aria-hidden="true">›</span>
            <a
              href={href(
                { view: 'rollouts', step: props.step },
                { tab: 'groups', group: String(row()?.group_index) },
              )}
            >
              group {row()?.group_index}
            </a>
          </Show>
          <span aria-hidden="true">›</span>
          <h2>sample {props.index}</h2>
        </nav>
        <div class="s-siblings">
          <IconButton
            label="Previous sample of the group"
            hint="k"
            disabled={place() <= 0}
            onClick={() => go(-1)}
          >
            ‹
          </IconButton>
          <ul aria-label="Samples of the group" class="s-dots">
            <For each={group().slice(0, 64)}>
              {(each) => (
                <li>
                  <Show when={each.sample_index !== null}>
                    <a
                      href={href(
                        { view: 'sample', step: props.step, index: each.sample_index ?? 0 },
                        tab() === 'tokens' ? { tab: 'tokens' } : {},
                      )}
                      aria-label={`sample ${each.sample_index}, reward ${format.num(rewardOf(each))}`}
                      aria-current={each.sample_index === props.index ? 'page' : undefined}
                      data-tip={`sample ${each.sample_index}: reward ${format.num(rewardOf(each))}, ${format.cell(each.status)}, ${format.count(each.response_length)} tokens`}
                      classList={{
                        's-dot': true,
                        's-dot-on': (rewardOf(each) ?? 0) > 0,
                        's-dot-none': rewardOf(each) === null,
                      }}
                    />
                  </Show>
                </li>
              )}
            </For>
          </ul>
          <IconButton
            label="Next sample of the group"
            hint="j"
            disabled={place() < 0 || place() >= group().length - 1}
            onClick={() => go(1)}
          >
            ›
          </IconButton>
          <span class="s-count">{place() < 0 ? '' : `${place() + 1} of ${group().length}`}</span>
        </div>
      </header>
      <Show when={row()}>{(own) => <Facts row={own()} />}</Show>
      <Show when={!props.step.evaluation}>
        <Lifecycle step={props.step} index={props.index} />
      </Show>
      <div class="s-tabs">
        <Tabs<Tab>
          label="Parts of the sample"
          value={tab()}
          onChange={(next) => setTab(next)}
          tabs={[
            { value: 'conversation', label: 'Conversation' },
            { value: 'tokens', label: 'Tokens', count: row() && format.count(row()?.total_length) },
          ]}
        />
        <Select
          label="Beside"
          showLabel
          value={beside() === null ? '' : String(beside())}
          options={others()}
          onChange={(value) => setBeside(value === '' ? null : Number(value))}
        />
      </div>
      <Show
        when={summary.data() === undefined || row() !== undefined}
        fallback={
          <Empty title={`No sample ${props.index}`}>
            The step has {format.plural(rows().length, 'sample')}; none has this index.
          </Empty>
        }
      >
        <div class="s-panes" classList={{ 's-two': beside() !== null }} role="tabpanel" aria-label={tab()}>
          <For each={beside() === null ? [props.index] : [props.index, beside() ?? 0]}>
            {(index) => (
              <section class="s-pane" aria-label={`Sample ${index}`}>
                <Show when={beside() !== null}>
                  <h3 class="s-pane-title">
                    <a href={href({ view: 'sample', step: props.step, index }, { tab: tab() })}>
                      sample {index}
                    </a>
                    <span class="s-count">
                      reward{' '}
                      {format.num(rewardOf(rows().find((each) => each.sample_index === index) ?? NO_ROW))}
                    </span>
                  </h3>
                </Show>
                <Switch>
                  <Match when={tab() === 'conversation'}>
                    <Conversation step={props.step} index={index} />
                  </Match>
                  <Match when={tab() === 'tokens'}>
                    <TokensPane step={props.step} index={index} isSecond={index !== props.index} />
                  </Match>
                </Switch>
              </section>
            )}
          </For>
        </div>
      </Show>
    </div>
  );
}

const NO_ROW = { raw_reward: null, reward: null } as unknown as Row;

function Facts(props: { readonly row: Row }): JSX.Element {
  const versions = (): string => {
    const { weight_version_min: oldest, weight_version: newest } = props.row;
    return oldest === null || String(oldest) === newest
      ? format.cell(newest)
      : `${oldest} … ${newest ?? '–'}`;
  };
  return (
    <div class="s-chips">
      <Chip tone={props.row.status === 'completed' ? 'good' : 'warning'} tip="How generation ended">
        {format.cell(props.row.status)}
      </Chip>
      <Show when={props.row.remove_sample === true}>
        <Chip tone="critical" tip="Takes no part in training: its loss mask is 0 throughout">
          removed
        </Chip>
      </Show>
      <Show when={props.row.truncated && props.row.status !== 'truncated'}>
        <Chip tone="warning">truncated</Chip>
      </Show>
      <Show when={props.row.alignment_failed}>
        <Chip tone="critical" tip="The trainer’s columns cannot be placed on the tokens">
          unplaced
        </Chip>
      </Show>
      <Chip name="reward" tone="accent">
        {format.num(rewardOf(props.row))}
      </Chip>
      <Chip name="advantage" tip="Mean over unmasked tokens">
        {format.num(props.row.adv_mean)}
      </Chip>
      <Chip
        name="versions"
        tone={props.row.mixed_version === true ? 'warning' : 'neutral'}
        tip="Of the weights that wrote it, oldest and newest"
      >
        {versions()}
      </Chip>
      <Chip name="staleness">{format.num(props.row.staleness)}</Chip>
      <Chip name="response">{format.plural(props.row.response_length ?? 0, 'token')}</Chip>
      <Chip name="total">{format.count(props.row.total_length)}</Chip>
      <Chip name="turns">{format.num(props.row.turns)}</Chip>
      <Chip name="mean |lp diff|">{format.num(props.row.mean_abs_lp_diff, 3)}</Chip>
      <Chip name="max |lp diff|" tone={(props.row.max_abs_lp_diff ?? 0) > 1 ? 'warning' : 'neutral'}>
        {format.num(props.row.max_abs_lp_diff, 3)}
      </Chip>
      <Chip name="imp ratio">{format.num(props.row.mean_imp_ratio)}</Chip>
      <Chip name="entropy">{format.num(props.row.mean_entropy, 3)}</Chip>
    </div>
  );
}
