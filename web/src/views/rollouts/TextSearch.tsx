// Search in the prompts and responses of the step's samples (those that pass the filters), with what was searched.

import { createEffect, createMemo, createSignal, For, on, onCleanup, Show, type JSX } from 'solid-js';
import type { StepRef } from '../../api';
import { Button, Checkbox, Empty, format, Segmented } from '../../kit';
import { codecs, href, useParam } from '../../state/router';
import { visible } from '../sample/visible';
import { rewardOf, type Row } from './columns';
import { matcher, searchStep, type Hit, type Progress, type Query } from './searchText';

/** Rows that are listed; more says so. */
const MOST_HITS = 500;

export function TextSearch(props: {
  readonly step: StepRef;
  /** What passes the filters, in the table's order. */
  readonly rows: readonly Row[];
  readonly total: number;
}): JSX.Element {
  const [text, setText] = useParam('q', codecs.text, '');
  const [isRegex, setRegex] = useParam('re', codecs.flag, false);
  const [where, setWhere] = useParam<Query['where']>(
    'where',
    codecs.choice('all', 'prompt', 'response'),
    'all',
  );
  const [typed, setTyped] = createSignal(text());
  const [progress, setProgress] = createSignal<Progress>();
  const [hits, setHits] = createSignal<readonly Hit[]>([]);
  let running: AbortController | undefined;
  createEffect(on(text, (now) => setTyped(now)));

  const byIndex = createMemo(() => new Map(props.rows.map((row) => [row.sample_index, row])));
  const reward = (index: number): number | null => {
    const row = byIndex().get(index);
    return row ? rewardOf(row) : null;
  };
  const pattern = createMemo(() => matcher({ text: text(), isRegex: isRegex(), where: where() }));
  const problem = (): string | undefined => {
    const now = matcher({ text: typed(), isRegex: isRegex(), where: where() });
    return typeof now === 'string' ? now : undefined;
  };
  const stop = (): void => {
    running?.abort();
    running = undefined;
  };
  createEffect(() => {
    const regex = pattern();
    const rows = props.rows;
    const step = props.step;
    const place = where();
    stop();
    setHits([]);
    setProgress(undefined);
    if (text() === '' || typeof regex === 'string') return;
    running = new AbortController();
    const indices = rows.flatMap((row) => row.sample_index ?? []);
    void searchStep(step, indices, regex, place, running.signal, (now, found) => {
      setProgress(now);
      setHits(found);
    });
  });
  onCleanup(stop);

  const searched = (): string => {
    const now = progress();
    if (!now) return '';
    const parts = [
      now.conversations > 0 ? format.plural(now.conversations, 'recorded conversation') : '',
      now.tokens > 0 ? `${format.count(now.tokens)} decoded from tokens` : '',
      now.cut > 0 ? `${now.cut} of them only up to token 20 000` : '',
      now.nothing > 0 ? `${format.count(now.nothing)} without any text` : '',
      now.failed > 0 ? `${format.count(now.failed)} could not be loaded` : '',
    ];
    return parts.filter((part) => part !== '').join(', ');
  };

  return (
    <div class="r-search">
      <form
        class="r-bar"
        role="search"
        onSubmit={(event) => {
          event.preventDefault();
          setText(typed());
        }}
      >
        <input
          class="k-input r-search-field"
          type="search"
          data-search
          aria-label="Text in prompts and responses"
          placeholder="text in prompts and responses, then Enter"
          aria-invalid={problem() !== undefined}
          data-tip={problem()}
          value={typed()}
          spellcheck={false}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
        <Checkbox label="regex" checked={isRegex()} onChange={(next) => setRegex(next)} />
        <Segmented
          label="Where"
          value={where()}
          options={[
            { value: 'all', label: 'Both' },
            { value: 'prompt', label: 'Prompts' },
            { value: 'response', label: 'Responses' },
          ]}
          onChange={(next) => setWhere(next)}
        />
        <Button type="submit" look="primary" disabled={typed() === '' || problem() !== undefined}>
          Search
        </Button>
        <Show when={(progress()?.done ?? 0) < (progress()?.of ?? 0)}>
          <Button
            onClick={() => {
              stop();
              setProgress((now) => now && { ...now, of: now.done });
            }}
          >
            Stop
          </Button>
        </Show>
      </form>
      <Show
        when={progress()}
        fallback={
          <Empty title={text() === '' ? 'Text search' : 'Cannot search'}>
            {text() === ''
              ? `Searches ${format.plural(props.rows.length, 'sample')}${props.rows.length < props.total ? ' that pass the filters' : ''}: the recorded conversation where there is one, else the decoded tokens.`
              : (problem() ?? '')}
          </Empty>
        }
      >
        {(now) => (
          <>
            <p class="r-note" role="status">
              <strong>{format.plural(hits().length, 'sample')}</strong> with a match
              {hits().length > 0
                ? `, ${format.plural(
                    hits().reduce((sum, hit) => sum + hit.count, 0),
                    'match',
                    'matches',
                  )}`
                : ''}
              . Searched {format.count(now().done)} of {format.count(now().of)}
              {searched() === '' ? '' : `: ${searched()}`}.
            </p>
            <progress
              class="r-progress"
              classList={{ 'r-progress-done': now().done >= now().of }}
              max={Math.max(1, now().of)}
              value={now().done}
              aria-label="Searched"
            />
            <ol class="r-hits">
              <For each={hits().slice(0, MOST_HITS)}>
                {(hit) => (
                  <li>
                    <a
                      href={href(
                        { view: 'sample', step: props.step, index: hit.index },
                        isRegex() ? {} : { q: text() },
                      )}
                    >
                      {hit.index}
                    </a>
                    <span class="r-hit-facts">
                      group {format.cell(byIndex().get(hit.index)?.group_index)}, reward{' '}
                      {format.num(reward(hit.index))}, {format.plural(hit.count, 'match', 'matches')}
                      {hit.inPrompt === hit.count ? ' in the prompt' : ''}
                    </span>
                    <bdi class="r-snippet">
                      {visible(hit.snippet[0])}
                      <mark>{visible(hit.snippet[1])}</mark>
                      {visible(hit.snippet[2])}
                    </bdi>
                  </li>
                )}
              </For>
            </ol>
            <Show when={hits().length > MOST_HITS}>
              <p class="r-note">The first {MOST_HITS} are listed.</p>
            </Show>
          </>
        )}
      </Show>
    </div>
  );
}
