// Which lanes are in the detail: a box that takes the selector grammar, a chip for each of its parts, and quick picks.

import { createEffect, createSignal, createUniqueId, For, onMount, Show, type JSX } from 'solid-js';
import { api, createQuery } from '../../api';
import { Button, Chip, format, SearchField } from '../../kit';
import { compress, partsOf } from './selector';
import type { Selected } from './selection';
import { useCompute } from './state';
import { timeText } from './ticks';

const GRAMMAR = [
  'g:5 or g:0-31: lanes by number',
  'rank:5 or rank:0-7: trainer ranks',
  'node:NAME: a node',
  'gpu:NODE:I: one GPU',
  'engine:PART: GPUs of engines whose address has this part',
  'role:train, role:rollout',
  'every:8: every eighth lane',
  'all',
  'Several parts with commas: their union. Enter takes them.',
].join('\n');

const PICKS = [
  {
    criterion: 'lowest_util',
    label: 'Lowest util',
    tip: 'the 8 lanes with the lowest mean utilization in the window',
  },
  {
    criterion: 'slowest_phase:update_weights',
    label: 'Slowest update_weights',
    tip: 'the 8 lanes whose update_weights took longest on average in the window',
  },
  {
    criterion: 'slowest_phase:actor_train',
    label: 'Slowest actor_train',
    tip: 'the 8 lanes whose actor_train took longest on average in the window',
  },
] as const;
const PICKED = 8;

type Criterion = (typeof PICKS)[number]['criterion'];

interface Picked {
  readonly criterion: Criterion;
  /** The selector that was made of it. */
  readonly lanes: string;
  readonly scores: readonly { readonly name: string; readonly score: number }[];
  readonly window: readonly [number, number];
}

export function SelectorBar(props: { readonly selected: Selected }): JSX.Element {
  const state = useCompute();
  const [text, setText] = createSignal('');
  const [asked, setAsked] = createSignal<{ criterion: Criterion; t0: number; t1: number }>();
  const [picked, setPicked] = createSignal<Picked>();
  const listId = createUniqueId();

  const outliers = createQuery(
    () => {
      const a = asked();
      return a ? api.outliers(a.criterion, { t0: a.t0, t1: a.t1, top_k: PICKED }) : null;
    },
    { once: true, forget: true },
  );
  createEffect(() => {
    const a = asked();
    const answer = outliers.data();
    if (!a || !answer || outliers.isOld()) return;
    const lanes = state.topology()?.lanes ?? [];
    const found = answer.outliers.flatMap((each) => {
      const lane = lanes.find((one) => one.node === each.node && one.gpu === each.gpu);
      return lane ? [{ lane, score: each.score }] : [];
    });
    const selector = compress(found.map(({ lane }) => lane.index));
    setPicked({
      criterion: a.criterion,
      lanes: selector,
      scores: found.map(({ lane, score }) => ({ name: `${lane.node}·${lane.gpu}`, score })),
      window: [a.t0, a.t1],
    });
    setAsked(undefined);
    if (selector !== '') state.setLanes(selector);
  });
  const shownPick = (): Picked | undefined => {
    const pick = picked();
    return pick && (pick.lanes === state.lanes() || pick.lanes === '') ? pick : undefined;
  };
  const score = (pick: Picked, value: number): string =>
    pick.criterion === 'lowest_util' ? `${format.num(value, 3)} %` : format.duration(value);

  const take = (): void => {
    const parts = partsOf(text());
    if (parts.length === 0) return;
    state.setLanes(partsOf([...partsOf(state.lanes()), ...parts].join(',')).join(','));
    setText('');
  };
  const problem = (): string | undefined =>
    props.selected.query.state() === 'failed' ? props.selected.query.error()?.message : undefined;
  const suggestions = (): string[] => {
    const topology = state.topology();
    const nodes = [...new Set((topology?.lanes ?? []).map((lane) => lane.node))].slice(0, 200);
    const engines = topology?.windows.at(-1)?.engines.slice(0, 64) ?? [];
    return [
      ...['all', 'role:train', 'role:rollout', 'every:8', 'rank:0-7', 'g:0-7'],
      ...nodes.map((node) => `node:${node}`),
      ...engines.map((engine) => `engine:${engine.addr.replace(/^https?:\/\//, '')}`),
    ];
  };
  let form: HTMLFormElement | undefined;
  onMount(() => {
    const input = form?.querySelector('input');
    input?.setAttribute('list', listId);
    input?.setAttribute('data-search', '');
    input?.setAttribute('enterkeyhint', 'done');
  });

  return (
    <div class="c-selector">
      <form
        ref={(element) => (form = element)}
        data-tip={GRAMMAR}
        onSubmit={(event) => {
          event.preventDefault();
          take();
        }}
        onKeyDown={(event) => {
          if (event.key !== 'Backspace' || text() !== '' || state.lanes() === '') return;
          state.setLanes(partsOf(state.lanes()).slice(0, -1).join(','));
        }}
      >
        <SearchField
          label="Lanes to show in the detail, as a selector"
          placeholder="add lanes: rank:0-7, node:…, g:5"
          value={text()}
          onInput={setText}
          invalid={problem()}
        />
        <datalist id={listId}>
          <For each={suggestions()}>{(value) => <option value={value} />}</For>
        </datalist>
      </form>
      <ul class="c-chips" aria-label="Selected lanes">
        <Show when={props.selected.isDefault()}>
          <li>
            <Chip tip="nothing is chosen: click or brush lanes, type a selector, or take a quick pick">
              {props.selected.text()} by default
            </Chip>
          </li>
        </Show>
        <For each={partsOf(state.lanes())}>
          {(part) => (
            <li>
              <Chip
                tone="accent"
                onRemove={() =>
                  state.setLanes(
                    partsOf(state.lanes())
                      .filter((each) => each !== part)
                      .join(','),
                  )
                }
              >
                {part}
              </Chip>
            </li>
          )}
        </For>
        <li class="c-quiet">
          {props.selected.lanes().length === 0 && props.selected.query.state() === 'ready'
            ? 'no lane matches'
            : `${format.count(props.selected.lanes().length)} of ${format.plural(state.laneCount(), 'lane')}`}
        </li>
        <Show when={!props.selected.isDefault()}>
          <li>
            <Button look="quiet" onClick={() => state.setLanes('')}>
              Clear
            </Button>
          </li>
        </Show>
      </ul>
      <div class="c-picks" role="group" aria-label="Quick picks">
        <For each={PICKS}>
          {({ criterion, label, tip }) => (
            <Button
              tip={tip}
              pressed={shownPick()?.criterion === criterion}
              onClick={() => {
                const [t0, t1] = state.span();
                setAsked({ criterion, t0, t1 });
              }}
            >
              {label}
            </Button>
          )}
        </For>
      </div>
      <Show when={problem()}>
        {(what) => (
          <p class="c-problem" role="alert">
            {what()}
          </p>
        )}
      </Show>
      <Show when={shownPick()}>
        {(pick) => (
          <p class="c-scores">
            <span class="c-quiet">
              {pick().criterion === 'lowest_util' ? 'mean utilization' : `mean ${pick().criterion.slice(14)}`}{' '}
              {timeText(pick().window[0], state.origin())} – {timeText(pick().window[1], state.origin())},
              worst first:
            </span>
            <For each={pick().scores} fallback={<span> no such phase or reading in this window</span>}>
              {(each) => (
                <span>
                  {each.name} <b>{score(pick(), each.score)}</b>
                </span>
              )}
            </For>
          </p>
        )}
      </Show>
    </div>
  );
}
