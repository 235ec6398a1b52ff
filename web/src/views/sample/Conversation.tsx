// The conversation of a sample: a card a turn, thinking and tools folded, found text marked. Long conversations exist
// only where they are looked at.

import {
  createEffect,
  createMemo,
  createResource,
  createSignal,
  For,
  onCleanup,
  Show,
  type JSX,
} from 'solid-js';
import type { StepRef } from '../../api';
import {
  Button,
  copyText,
  Empty,
  ErrorNote,
  format,
  IconButton,
  Loading,
  SearchField,
  Segmented,
} from '../../kit';
import { createPref } from '../../state/prefs';
import { codecs, useParam } from '../../state/router';
import { countMatches, turnsOfMessages, turnsOfText, turnText, type Part, type Turn } from './conversation';
import { Text } from './Markdown';
import { fetchText, type SampleText } from './text';
import { visible } from './visible';

/** Cards that are made at a time; more come when the end is in sight. */
const BATCH = 60;
const ALL_TOKENS = 10_000_000;

const [isMarkdown, setMarkdown] = createPref('sample.markdown', (stored) => stored !== false);

export function Conversation(props: {
  readonly step: StepRef;
  readonly index: number;
  readonly head?: boolean;
}): JSX.Element {
  let stop = new AbortController();
  onCleanup(() => stop.abort());
  const [whole, setWhole] = createSignal(false);
  const [text, { refetch }] = createResource(
    () => ({ step: props.step, index: props.index, whole: whole() }),
    async (wanted): Promise<SampleText> => {
      stop.abort();
      stop = new AbortController();
      return wanted.whole
        ? fetchText(wanted.step, wanted.index, stop.signal, ALL_TOKENS)
        : fetchText(wanted.step, wanted.index, stop.signal);
    },
  );
  const found = (): SampleText | undefined => (text.error === undefined ? text() : undefined);
  const turns = createMemo((): readonly Turn[] => {
    const now = found();
    if (!now || now.from === 'nothing') return [];
    return now.from === 'conversation'
      ? turnsOfMessages(now.messages)
      : turnsOfText(now.prompt, now.response);
  });
  return (
    <Show
      when={found()}
      fallback={
        <Show when={text.error !== undefined} fallback={<Loading what="the conversation" height={300} />}>
          <ErrorNote what="the conversation" detail={String(text.error)} retry={() => void refetch()} />
        </Show>
      }
    >
      {(now) => (
        <Show
          when={now().from !== 'nothing'}
          fallback={
            <Empty title="No text of this sample">
              {(now() as { why?: string }).why} The Tokens tab still has ids and series.
            </Empty>
          }
        >
          <Turns turns={turns()} />
          <Show when={now().from === 'tokens'}>
            <p class="s-source">
              No conversation was recorded for this sample: this is its decoded text, split by its markup.
              <Show when={(now() as { isCut?: boolean }).isCut}>
                {' '}
                <Button onClick={() => setWhole(true)}>Load the rest</Button>
              </Show>
            </p>
          </Show>
        </Show>
      )}
    </Show>
  );
}

function Turns(props: { readonly turns: readonly Turn[] }): JSX.Element {
  const [query, setQuery] = useParam('q', codecs.text, '');
  // Cards [first, made) are there: a match far below does not make all before it.
  const [first, setFirst] = createSignal(0);
  const [made, setMade] = createSignal(BATCH);
  const [at, setAt] = createSignal(0);
  const [copied, setCopied] = createSignal(false);
  let list!: HTMLOListElement;
  let end!: HTMLDivElement;
  const counts = createMemo(() => countMatches(props.turns, query()));
  const matches = createMemo(() => counts().reduce((sum, n) => sum + n, 0));

  createEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting))
          setMade((n) => Math.min(props.turns.length, n + BATCH));
      },
      { rootMargin: '1200px' },
    );
    observer.observe(end);
    // Observed anew after each batch: an end that stays in sight tells nothing by itself.
    made();
    onCleanup(() => observer.disconnect());
  });

  // Found text is marked by ranges over the text nodes that are there: the page's elements are not touched.
  const ranges = (within: Node): readonly Range[] => {
    const wanted = query().toLowerCase();
    const all: Range[] = [];
    if (wanted === '') return all;
    const walker = document.createTreeWalker(within, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node && all.length < 2000; node = walker.nextNode()) {
      const text = (node.textContent ?? '').toLowerCase();
      let from = text.indexOf(wanted);
      while (from >= 0 && all.length < 2000) {
        const range = document.createRange();
        range.setStart(node, from);
        range.setEnd(node, Math.min(node.textContent?.length ?? 0, from + wanted.length));
        all.push(range);
        from = text.indexOf(wanted, from + wanted.length);
      }
    }
    return all;
  };
  /** The turn of a match, and which of the turn's matches it is. */
  const placeOf = (match: number): { readonly turn: number; readonly local: number } => {
    let before = 0;
    for (const [turn, n] of counts().entries()) {
      if (match < before + n) return { turn, local: match - before };
      before += n;
    }
    return { turn: -1, local: 0 };
  };
  const current = (match: number): Range | undefined => {
    const { turn, local } = placeOf(match);
    const body = list.children[turn - first()]?.querySelector('.s-turn-body');
    if (!body) return undefined;
    const own = ranges(body);
    return own[local] ?? own[0];
  };
  const mark = (match: number): void => {
    if (!('highlights' in CSS)) return;
    CSS.highlights.set('s-found', new Highlight(...ranges(list)));
    const range = current(match);
    if (range) CSS.highlights.set('s-current', new Highlight(range));
    else CSS.highlights.delete('s-current');
  };
  createEffect(() => {
    query();
    made();
    const now = at();
    const timer = setTimeout(() => mark(now), 60);
    onCleanup(() => clearTimeout(timer));
  });
  onCleanup(() => {
    if (!('highlights' in CSS)) return;
    CSS.highlights.delete('s-found');
    CSS.highlights.delete('s-current');
  });
  const go = (by: number): void => {
    if (matches() === 0) return;
    const next = (at() + by + matches()) % matches();
    setAt(next);
    const { turn } = placeOf(next);
    if (turn < first() || turn >= made() + BATCH) {
      setFirst(Math.max(0, turn - 10));
      setMade(Math.min(props.turns.length, turn + 30));
    } else if (turn >= made()) setMade(Math.min(props.turns.length, turn + 30));
    setTimeout(() => {
      (current(next)?.startContainer.parentElement ?? list.children[turn - first()])?.scrollIntoView({
        block: 'center',
      });
      mark(next);
    }, 80);
  };

  return (
    <>
      <div class="s-bar">
        <form
          role="search"
          class="s-find"
          onSubmit={(event) => {
            event.preventDefault();
            go(1);
          }}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || !event.shiftKey) return;
            event.preventDefault();
            go(-1);
          }}
        >
          <SearchField
            label="Search in text"
            value={query()}
            ref={(element: HTMLInputElement) => (element.dataset.search = '')}
            onInput={(value) => {
              setQuery(value, { replace: true });
              setAt(0);
            }}
          />
          <Show when={query() !== ''}>
            <span class="s-count" role="status">
              {matches() === 0 ? 'nothing' : `${at() + 1} of ${format.count(matches())}`}
            </span>
            <IconButton label="Previous match" hint="Shift+Enter" onClick={() => go(-1)}>
              ↑
            </IconButton>
            <IconButton label="Next match" hint="Enter" onClick={() => go(1)}>
              ↓
            </IconButton>
          </Show>
        </form>
        <span class="s-count">{format.plural(props.turns.length, 'turn')}</span>
        <Segmented
          label="How text is shown"
          value={isMarkdown() ? 'md' : 'plain'}
          options={[
            { value: 'md', label: 'Markdown' },
            { value: 'plain', label: 'Plain' },
          ]}
          onChange={(next) => setMarkdown(next === 'md')}
        />
        <Button
          onClick={() =>
            void copyText(props.turns.map((turn) => `${turn.role}:\n${turnText(turn)}`).join('\n\n')).then(
              (done) => {
                setCopied(done);
                setTimeout(() => setCopied(false), 1500);
              },
            )
          }
        >
          {copied() ? 'Copied' : 'Copy all'}
        </Button>
      </div>
      <Show when={first() > 0}>
        <p class="s-end">
          {format.plural(first(), 'turn')} above{' '}
          <Button onClick={() => setFirst((n) => Math.max(0, n - BATCH))}>
            Show {Math.min(BATCH, first())}
          </Button>{' '}
          <Button
            onClick={() => {
              setFirst(0);
              setMade(BATCH);
            }}
          >
            To the start
          </Button>
        </p>
      </Show>
      <ol class="s-turns" ref={list}>
        <For each={props.turns.slice(first(), made())}>
          {(turn, place) => (
            <Card turn={turn} place={first() + place()} found={(counts()[first() + place()] ?? 0) > 0} />
          )}
        </For>
      </ol>
      <div ref={end} class="s-end">
        <Show when={made() < props.turns.length}>
          {format.count(props.turns.length - made())} more turns below
        </Show>
      </div>
    </>
  );
}

/** System prompts and what tools said are folded until somebody looks. */
const isFolded = (turn: Turn): boolean => /^(?:system|developer|tool|function)$/.test(turn.role);

function Card(props: { readonly turn: Turn; readonly place: number; readonly found: boolean }): JSX.Element {
  const text = createMemo(() => turnText(props.turn));
  const first = createMemo(() => isFolded(props.turn));
  const [copied, setCopied] = createSignal(false);
  const preview = (): string => visible(text().slice(0, 160).replace(/\s+/g, ' '));
  return (
    <li class="s-turn" data-role={props.turn.role}>
      <details open={!first() || props.found}>
        <summary>
          <span class="s-role">{visible(props.turn.role)}</span>
          <Show when={props.turn.name}>{(name) => <code class="s-name">{visible(name())}</code>}</Show>
          <Show when={props.turn.isPrompt}>
            <span class="s-tag">prompt</span>
          </Show>
          <span class="s-preview">{preview()}</span>
          <span class="s-size">
            #{props.place + 1} · {format.plural(text().length, 'character')}
          </span>
        </summary>
        <div class="s-turn-body">
          <Button
            look="quiet"
            class="s-copy"
            onClick={() =>
              void copyText(text()).then((done) => {
                setCopied(done);
                setTimeout(() => setCopied(false), 1500);
              })
            }
          >
            {copied() ? 'Copied' : 'Copy'}
          </Button>
          <For each={props.turn.parts}>{(part) => <PartView part={part} found={props.found} />}</For>
          <Show when={props.turn.parts.length === 0}>
            <p class="k-muted">empty</p>
          </Show>
        </div>
      </details>
    </li>
  );
}

function PartView(props: { readonly part: Part; readonly found: boolean }): JSX.Element {
  const fold = (
    title: JSX.Element,
    body: string,
    kind: string,
    open: boolean,
    mono: boolean,
  ): JSX.Element => (
    <details class={`s-part s-part-${kind}`} open={open || props.found}>
      <summary>{title}</summary>
      <Text text={body} isMarkdown={isMarkdown()} mono={mono} open={props.found} />
    </details>
  );
  const view = (): JSX.Element => {
    const part = props.part;
    switch (part.kind) {
      case 'text':
        return <Text text={part.text} isMarkdown={isMarkdown()} open={props.found} />;
      case 'thinking':
        return fold(
          <>
            thinking{part.isOpen === true ? ', never closed' : ''}
            <span class="s-size">{format.plural(part.text.length, 'character')}</span>
          </>,
          part.text,
          'thinking',
          false,
          false,
        );
      case 'tool_call':
        return fold(
          <>
            call <code>{visible(part.name === '' ? '(no name)' : part.name)}</code>
          </>,
          part.args,
          'call',
          true,
          true,
        );
      case 'tool_response':
        return fold('result', part.text, 'result', true, true);
      case 'json':
        return fold(<code>{visible(part.name)}</code>, part.json, 'json', false, true);
      case 'media':
        return (
          <p class="s-media">
            <strong>{part.what}</strong> {visible(part.note)} <span class="k-muted">(not loaded)</span>
          </p>
        );
    }
  };
  return <>{view()}</>;
}
