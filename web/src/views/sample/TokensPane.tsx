// Every token of a sample, coloured by a series. Rows exist only in sight, values come in parts: a hundred thousand
// tokens scroll as a hundred do.

import {
  createEffect,
  createMemo,
  createSignal,
  For,
  on,
  onCleanup,
  onMount,
  Show,
  type JSX,
} from 'solid-js';
import { TOKEN_SERIES, type StepRef, type TokenSeries } from '../../api';
import {
  Button,
  Empty,
  ErrorNote,
  format,
  HoverCard,
  IconButton,
  Loading,
  Segmented,
  Select,
  type Span,
} from '../../kit';
import { useKeys } from '../../state/keys';
import { codecs, useParam } from '../../state/router';
import { scaleFor, stepClass, stepOf, STEPS, type Scale } from './color';
import {
  chunkOfRow,
  layoutPage,
  rowOfToken,
  rowPieces,
  tokenOfRow,
  type ChunkRows,
  type Page,
} from './layout';
import { createLoader, type Loaded } from './loader';
import { Strip } from './Strip';
import { nextOf, outliers, type Outlier } from './tokens';
import { visible } from './visible';

export function TokensPane(props: {
  readonly step: StepRef;
  readonly index: number;
  readonly isSecond: boolean;
}): JSX.Element {
  // eslint-disable-next-line solid/reactivity -- which of two panes it is does not change
  const token = props.isSecond ? 'tok2' : 'tok';
  const [marked] = useParam<number | null>(token, codecs.number as never, null);
  const [place, setPlace] = createSignal(0);
  const loader = createLoader(
    () => ({ step: props.step, index: props.index }),
    () => Math.max(place(), 0) || (marked() ?? 0),
  );
  return (
    <Show
      when={loader.loaded()}
      fallback={
        <Show when={loader.problem()} fallback={<Loading what="tokens" height={300} />}>
          {(problem) => <ErrorNote what="tokens" detail={problem()} retry={loader.retry} />}
        </Show>
      }
    >
      {(loaded) => (
        <>
          <Show when={loader.problem()}>
            {(problem) => <ErrorNote what="all of the tokens" detail={problem()} retry={loader.retry} />}
          </Show>
          <Show
            when={loaded().store.total > 0}
            fallback={<Empty title="No tokens">The sample has none.</Empty>}
          >
            <Pane loaded={loaded()} isSecond={props.isSecond} onPlace={setPlace} />
          </Show>
        </>
      )}
    </Show>
  );
}

const ROW = 20;
const STRIP = 104;
/** Width of a character of the text's font, until it was measured. */
const CHAR = 7.8;
const GUTTER = 64;
const MORE_ROWS = 8;

/** Of the first part it is enough to colour by; `isComplete` is there to be looked at again in the end. */
const scaleOf = (_isComplete: boolean, name: TokenSeries, values: Float32Array): Scale =>
  scaleFor(name, values);

const NAMES: Readonly<Record<TokenSeries, string>> = {
  rollout_log_probs: 'rollout log-prob',
  train_log_probs: 'train log-prob',
  ref_log_probs: 'ref log-prob',
  lp_diff: 'lp diff',
  imp_ratio: 'imp ratio',
  entropy: 'entropy',
  ref_entropy: 'ref entropy',
  advantages: 'advantage',
  returns: 'return',
};

function Pane(props: {
  readonly loaded: Loaded;
  readonly isSecond: boolean;
  readonly onPlace: (at: number) => void;
}): JSX.Element {
  // eslint-disable-next-line solid/reactivity -- which of two panes it is does not change
  const [zoom, token] = props.isSecond ? ['t2', 'tok2'] : ['t', 'tok'];
  const store = (): Loaded['store'] => props.loaded.store;
  const there = createMemo(() => TOKEN_SERIES.filter((name) => store().series[name] !== undefined));
  const [wanted, setWanted] = useParam<TokenSeries | ''>(
    'by',
    codecs.choice<TokenSeries | ''>(...TOKEN_SERIES),
    '',
  );
  const [window_, setWindow] = useParam<Span | null>(zoom, codecs.range as never, null);
  const [marked, setMarked] = useParam<number | null>(token, codecs.number as never, null);
  const [by, setBy] = useParam<Outlier>('out', codecs.choice('lp_diff', 'imp_ratio'), 'lp_diff');
  const [columns, setColumns] = createSignal(100);
  const [top, setTop] = createSignal(0);
  const [room, setRoom] = createSignal(Math.max(320, innerHeight - 430));
  const [hover, setHover] = createSignal<{ readonly at: number; readonly x: number; readonly y: number }>();
  let scroller!: HTMLDivElement;

  const series = (): TokenSeries | undefined => {
    const name = wanted();
    if (name !== '' && there().includes(name)) return name;
    return there().includes('lp_diff') ? 'lp_diff' : there()[0];
  };
  const span = createMemo((): Span => {
    const zoomed = window_();
    if (!zoomed || zoomed[0] >= store().total) return [0, store().total];
    return [Math.max(0, Math.floor(zoomed[0])), Math.min(store().total, Math.ceil(zoomed[1]))];
  });
  const isComplete = createMemo(() => props.loaded.isComplete);
  const scale = createMemo((): Scale | undefined => {
    const name = series();
    const values = name && store().series[name];
    // Looked at again when all is there.
    return name && values ? scaleOf(isComplete(), name, values) : undefined;
  });
  const known = new Map<string, ChunkRows>();
  const page = createMemo((): Page => {
    const { store: filled } = props.loaded;
    return layoutPage(filled, span(), columns(), known);
  });
  createEffect(on([columns, store], () => known.clear(), { defer: true }));

  // What is in sight stays in sight when a part before it gets its real height.
  let before: Page | undefined;
  createEffect(() => {
    const now = page();
    const old = before;
    before = now;
    if (!old || old === now || old.chunks[0]?.from !== now.chunks[0]?.from) return;
    const row = Math.floor(scroller.scrollTop / ROW);
    const at = tokenOfRow(old, row);
    const shifted = rowOfToken(now, at) - rowOfToken(old, at);
    if (shifted !== 0) scroller.scrollTop += shifted * ROW;
  });

  const first = createMemo(() => Math.max(0, Math.floor(top() / ROW) - MORE_ROWS));
  const last = createMemo(() => Math.min(page().rows, Math.ceil((top() + room()) / ROW) + MORE_ROWS));
  // Numbers, so that a row that stays in sight stays as it is.
  const rows = createMemo(() => {
    const list: number[] = [];
    for (let row = first(); row < last(); row += 1) list.push(row);
    return list;
  });
  const seen = createMemo((): Span => [
    tokenOfRow(page(), Math.floor(top() / ROW)),
    Math.min(span()[1], tokenOfRow(page(), Math.min(page().rows - 1, Math.ceil((top() + room()) / ROW))) + 1),
  ]);
  createEffect(() => props.onPlace(seen()[0]));

  const far = createMemo(() => {
    const { store: filled } = props.loaded;
    return outliers(filled.series[by()], by());
  });
  const show = (at: number): void => {
    if (at < span()[0] || at >= span()[1]) setWindow(null, { replace: true });
    const row = rowOfToken(page(), at);
    if (row * ROW < scroller.scrollTop || (row + 2) * ROW > scroller.scrollTop + room()) {
      scroller.scrollTop = Math.max(0, row * ROW - room() / 2);
      setTop(scroller.scrollTop);
    }
  };
  const pick = (at: number | undefined): void => {
    if (at === undefined) return;
    setMarked(at, { replace: true });
    show(at);
  };
  const jump = (back: boolean): void => pick(nextOf(far(), marked(), back));
  // eslint-disable-next-line solid/reactivity -- which of two panes it is does not change
  if (!props.isSecond) {
    useKeys('Tokens', [
      { keys: ['n'], what: 'next outlier', run: () => jump(false) },
      { keys: ['p'], what: 'previous outlier', run: () => jump(true) },
      {
        keys: ['ArrowRight'],
        what: 'next token',
        run: () => pick(Math.min(store().total - 1, (marked() ?? -1) + 1)),
      },
      { keys: ['ArrowLeft'], what: 'previous token', run: () => pick(Math.max(0, (marked() ?? 1) - 1)) },
    ]);
  }

  onMount(() => {
    const probe = document.createElement('span');
    probe.textContent = 'x'.repeat(100);
    probe.className = 's-probe';
    scroller.append(probe);
    const char = probe.getBoundingClientRect().width / 100 || CHAR;
    probe.remove();
    const measure = (): void => {
      setColumns(Math.max(16, Math.floor((scroller.clientWidth - GUTTER - 12) / char)));
      setRoom(scroller.clientHeight);
    };
    const observer = new ResizeObserver(measure);
    observer.observe(scroller);
    measure();
    onCleanup(() => observer.disconnect());
    const start = marked();
    if (start !== null) requestAnimationFrame(() => show(start));
  });

  const tokenAt = (target: EventTarget | null): number | undefined => {
    const text = target instanceof HTMLElement ? target.dataset.t : undefined;
    return text === undefined ? undefined : Number(text);
  };
  const markedAt = (): number | null => {
    const at = marked();
    return at !== null && at >= 0 && at < store().total ? at : null;
  };

  return (
    <div class="s-tokens">
      <div class="s-bar">
        <Select
          label="Colour"
          showLabel
          value={series() ?? ''}
          options={there().map((name) => ({ value: name, label: NAMES[name] }))}
          onChange={(name) => setWanted(name)}
        />
        <Show when={scale()}>
          {(known_) => <Legend scale={known_()} isReversed={(series() ?? '').endsWith('log_probs')} />}
        </Show>
        <span class="s-legend">
          <i class="s-key s-key-prompt" />
          prompt
          <i class="s-key s-key-scored" />
          scored
          <i class="s-key s-key-masked" />
          masked
        </span>
        <div class="s-outliers">
          <Segmented
            label="Outliers by"
            value={by()}
            options={[
              {
                value: 'lp_diff',
                label: '|lp diff|',
                tip: 'The 20 tokens on which trainer and engine differ most',
              },
              {
                value: 'imp_ratio',
                label: 'imp ratio',
                tip: 'The 20 tokens whose importance ratio is farthest from 1',
              },
            ]}
            onChange={(next) => setBy(next)}
          />
          <IconButton
            label="Previous outlier"
            hint="p"
            disabled={far().length === 0}
            onClick={() => jump(true)}
          >
            ↑
          </IconButton>
          <IconButton label="Next outlier" hint="n" disabled={far().length === 0} onClick={() => jump(false)}>
            ↓
          </IconButton>
          <span class="s-count">
            {far().length === 0
              ? 'no outlier'
              : `${markedAt() !== null && far().includes(markedAt() ?? -1) ? far().indexOf(markedAt() ?? -1) + 1 : '–'} of ${far().length}`}
          </span>
        </div>
        <Show when={window_() !== null}>
          <Button onClick={() => setWindow(null)} tip="Double click on the strip does the same">
            Tokens {format.count(span()[0])} to {format.count(span()[1])} ✕
          </Button>
        </Show>
        <Show when={!props.loaded.isComplete}>
          <span class="s-count" role="status">
            loaded{' '}
            {format.percent(store().loaded.reduce((sum, each) => sum + each, 0) / store().loaded.length, 0)}
          </span>
        </Show>
      </div>
      <Strip
        loaded={props.loaded}
        series={series()}
        scale={scale()}
        span={span()}
        seen={seen()}
        marked={hover()?.at ?? markedAt()}
        outliers={far()}
        height={STRIP}
        onSpan={(next) => {
          setWindow(next ?? null);
          scroller.scrollTop = 0;
          setTop(0);
        }}
        onPick={pick}
      />
      <Show when={markedAt() !== null}>
        <div class="s-marked" role="status">
          <TokenFacts loaded={props.loaded} at={markedAt() ?? 0} />
        </div>
      </Show>
      <div
        class="s-text"
        ref={scroller}
        tabIndex={0}
        role="region"
        aria-label="Text by token. Arrow left and right move the mark, n and p go to outliers."
        onScroll={() => setTop(scroller.scrollTop)}
        onPointerOver={(event) => {
          const at = tokenAt(event.target);
          setHover(at === undefined ? undefined : { at, x: event.clientX, y: event.clientY });
        }}
        onPointerLeave={() => setHover(undefined)}
        onClick={(event) => {
          if (getSelection()?.isCollapsed === false) return;
          const at = tokenAt(event.target);
          if (at !== undefined) setMarked(at === marked() ? null : at, { replace: true });
        }}
      >
        <div class="s-sheet" style={{ height: `${page().rows * ROW}px` }}>
          <For each={rows()}>
            {(row) => (
              <Row
                row={row}
                page={page()}
                loaded={props.loaded}
                series={series()}
                scale={scale()}
                marked={markedAt()}
              />
            )}
          </For>
        </div>
      </div>
      <HoverCard at={hover()}>
        <Show when={hover()}>{(at) => <TokenFacts loaded={props.loaded} at={at().at} isCard />}</Show>
      </HoverCard>
    </div>
  );
}

/** One row. Its tokens are made at once and by hand: hundreds of them come with every frame of a fast scroll. */
function Row(props: {
  readonly row: number;
  readonly page: Page;
  readonly loaded: Loaded;
  readonly series: TokenSeries | undefined;
  readonly scale: Scale | undefined;
  readonly marked: number | null;
}): JSX.Element {
  const chunk = createMemo(() => chunkOfRow(props.page, props.row));
  const laidOut = createMemo(() => chunk()?.rows);
  const place = (): number => props.row - (chunk()?.top ?? 0);
  const store = createMemo(() => props.loaded.store);
  const pieces = createMemo(() => {
    const known = laidOut();
    return known ? rowPieces(store(), known, place()) : [];
  });
  /** The marked token, if it is of this row. */
  const mark = createMemo(() => (pieces().some((piece) => piece.at === props.marked) ? props.marked : null));
  const nodes = createMemo((): Node[] => {
    const { mask, prompt, series } = store();
    const scale = props.scale;
    const name = props.series;
    const values = name && series[name];
    return pieces().map((piece) => {
      const token = document.createElement('span');
      let looks = mask?.[piece.at] === 0 ? 's-tok s-masked' : 's-tok';
      if (scale && name && piece.at >= prompt) {
        looks += ` ${stepClass(stepOf(scale, name, values?.[piece.at] ?? NaN))}`;
      }
      token.className = piece.at === mark() ? `${looks} s-mark` : looks;
      token.dataset.t = String(piece.at);
      token.textContent = visible(piece.text).replaceAll('\t', '→');
      if (piece.newline) {
        const sign = document.createElement('i');
        sign.className = 's-newline';
        sign.textContent = '⏎';
        token.append(sign);
      }
      return token;
    });
  });
  const isPrompt = (): boolean => (laidOut()?.starts[place()] ?? chunk()?.from ?? 0) < store().prompt;
  return (
    <div
      class="s-row"
      classList={{ 's-row-prompt': isPrompt() }}
      style={{ transform: `translateY(${props.row * ROW}px)` }}
    >
      <span class="s-at" aria-hidden="true">
        {pieces()[0]?.at ?? ''}
      </span>
      <Show when={laidOut()} fallback={<span class="s-unloaded">…</span>}>
        {nodes()}
      </Show>
    </div>
  );
}

function Legend(props: { readonly scale: Scale; readonly isReversed: boolean }): JSX.Element {
  const steps = (): readonly number[] =>
    props.scale.kind === 'diverging'
      ? Array.from({ length: 2 * STEPS + 1 }, (_, at) => at - STEPS)
      : Array.from({ length: STEPS + 1 }, (_, at) => at);
  return (
    <span class="s-legend" data-tip="To the 99th percentile; what is beyond has the last colour">
      {format.num(props.isReversed ? props.scale.high : props.scale.low, 3)}
      <span class="s-ramp">
        <For each={steps()}>{(step) => <i class={`s-step ${stepClass(step)}`} />}</For>
      </span>
      {format.num(props.isReversed ? props.scale.low : props.scale.high, 3)}
    </span>
  );
}

function TokenFacts(props: {
  readonly loaded: Loaded;
  readonly at: number;
  readonly isCard?: boolean;
}): JSX.Element {
  const store = (): Loaded['store'] => props.loaded.store;
  const text = (): string => {
    const own = store().text[props.at];
    return own === null || own === undefined
      ? '–'
      : visible(JSON.stringify(own.length > 120 ? `${own.slice(0, 120)} …` : own));
  };
  const where = (): string =>
    props.at < store().prompt
      ? 'prompt'
      : `response ${format.count(props.at - store().prompt)}${store().mask ? (store().mask?.[props.at] === 1 ? ', scored' : store().mask?.[props.at] === 0 ? ', masked' : '') : ''}`;
  return (
    <dl class={props.isCard === true ? 's-facts' : 's-facts-line'}>
      <dt>token {format.count(props.at)}</dt>
      <dd>
        <code>{text()}</code>
      </dd>
      <dt>id</dt>
      <dd>{store().ids[props.at]}</dd>
      <dt>in</dt>
      <dd>{where()}</dd>
      <For each={TOKEN_SERIES.filter((name) => store().series[name] !== undefined)}>
        {(name) => (
          <>
            <dt>{NAMES[name]}</dt>
            <dd>{format.num(store().series[name]?.[props.at], 4)}</dd>
          </>
        )}
      </For>
    </dl>
  );
}
