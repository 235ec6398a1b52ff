// One chart in a card or in full screen: head, line chart, the card beside the pointer, what can be done with it.

import { createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { copyPng, copyText, HoverCard, Icon, IconButton, LineChart, toCsv, type Hovered } from '../../kit';
import { navigate } from '../../state/router';
import { run } from '../../state/run';
import { isFraction, meaningOf } from './meanings';
import type { ChartModel } from './model';
import { pictureOf } from './picture';
import type { MetricsState } from './state';

/** Shares and what engines report are read against 0; everything else against itself. */
const ZERO: readonly [number, null] = [0, null];
const FREE: readonly [null, null] = [null, null];

/** What was just done is said for this long. */
const SAID_MS = 1800;

export function Chart(props: {
  readonly model: ChartModel;
  readonly state: MetricsState;
  readonly height: number;
  readonly full?: boolean;
}): JSX.Element {
  const [hovered, setHovered] = createSignal<Hovered>();
  const [cursor, setCursor] = createSignal<number>();
  const [said, setSaid] = createSignal('');
  let canvas: (() => HTMLCanvasElement | undefined) | undefined;
  const say = (text: string): void => {
    setSaid(text);
    setTimeout(() => setSaid(''), SAID_MS);
  };
  const key = (): string => props.model.key;
  const range = createMemo(() => props.state.zoom(props.model.axis()), undefined, {
    equals: (a, b) => a?.[0] === b?.[0] && a?.[1] === b?.[1],
  });
  const name = createMemo(() => {
    const cut = key().lastIndexOf('/');
    return { before: key().slice(0, cut + 1), own: key().slice(cut + 1) };
  });
  const pick = (index: number): void => {
    const found = props.model.stepAt(index);
    if (found?.isThere === true) navigate({ view: 'rollouts', step: found.step });
    else say(found ? `step ${found.step.id} has no dump that can be read` : 'no step is known here');
  };
  const copyCsv = async (): Promise<void> => {
    const { columns, rows } = props.model.csv();
    say((await copyText(toCsv(columns, rows))) ? 'CSV copied' : 'the browser did not allow to copy');
  };
  const copyPicture = async (): Promise<void> => {
    const source = canvas?.();
    if (!source) return;
    const lines = [[run.name() ?? '', props.model.note() ?? ''].filter(Boolean).join(' · ')].filter(Boolean);
    const how = await copyPng(await pictureOf(source, key(), lines), `${key().replace(/\W+/g, '-')}.png`);
    say(how === 'copied' ? 'PNG copied' : 'PNG saved');
  };
  const label = (): string => {
    const meaning = meaningOf(key());
    return `${key()}, newest ${props.model.value(undefined)}${meaning === undefined ? '' : `: ${meaning}`}`;
  };
  const card = createMemo(() => {
    const at = hovered();
    return at && { at: { x: at.left, y: at.top }, index: at.index };
  });

  return (
    <article class="m-card" classList={{ 'm-card-full': props.full === true }}>
      <header class="m-head">
        <h3 class="m-title">
          <Show when={props.full !== true} fallback={<span class="m-meaning">{meaningOf(key()) ?? ''}</span>}>
            <button
              type="button"
              data-tip={meaningOf(key()) ?? 'a metric of this run’s own'}
              onClick={() => props.state.setFull(key())}
            >
              <span class="m-before">{name().before}</span>
              {name().own}
            </button>
          </Show>
        </h3>
        <span class="m-value" classList={{ 'm-at-cursor': cursor() !== undefined }}>
          {said() || (props.model.isThere() ? props.model.value(cursor()) : '')}
        </span>
        <div class="m-actions">
          <IconButton
            label={`Log axis of ${key()}`}
            pressed={props.state.isLog(key())}
            onClick={() => props.state.toggleLog(key())}
          >
            log
          </IconButton>
          <IconButton
            label={
              props.state.pins().includes(key()) ? `Unpin ${key()}` : `Pin ${key()} above every category`
            }
            pressed={props.state.pins().includes(key())}
            onClick={() => props.state.togglePin(key())}
          >
            <Icon name="star" filled={props.state.pins().includes(key())} />
          </IconButton>
          <IconButton label={`Copy ${key()} as CSV`} onClick={() => void copyCsv()}>
            CSV
          </IconButton>
          <IconButton label={`Copy ${key()} as PNG`} onClick={() => void copyPicture()}>
            PNG
          </IconButton>
          <Show when={props.full !== true}>
            <IconButton label={`Full screen of ${key()}`} onClick={() => props.state.setFull(key())}>
              <Icon name="expand" />
            </IconButton>
          </Show>
        </div>
      </header>
      <div class="m-plot" style={{ height: `${props.height}px` }}>
        <Show
          when={props.model.isThere() && !props.model.isEmpty()}
          fallback={
            <p class="m-none">
              {props.model.isThere() ? 'no points' : props.model.problem() !== undefined ? 'not loaded' : ''}
            </p>
          }
        >
          <LineChart
            data={props.model.data()}
            height={props.height}
            label={label()}
            time={props.model.axis() === 'time'}
            log={props.state.isLog(key())}
            range={range()}
            onRange={(next) => props.state.setZoom(props.model.axis(), next)}
            group={`metrics ${props.model.axis()}`}
            onHover={setHovered}
            onCursor={setCursor}
            onPick={pick}
            yRange={isFraction(key()) || key().startsWith('sglang_') ? ZERO : FREE}
            ref={(get) => (canvas = get)}
          />
        </Show>
      </div>
      <Show when={props.model.note()}>{(note) => <p class="m-note">{note()}</p>}</Show>
      <HoverCard at={card()?.at}>
        <PointCard model={props.model} index={card()?.index ?? 0} />
      </HoverCard>
    </article>
  );
}

function PointCard(props: { readonly model: ChartModel; readonly index: number }): JSX.Element {
  const step = createMemo(() => props.model.stepAt(props.index));
  return (
    <>
      <div class="m-caption">{props.model.caption(props.index)}</div>
      <table class="m-rows">
        <tbody>
          <For each={props.model.rows(props.index)}>
            {(row) => (
              <tr classList={{ 'm-strong': row.strong === true }}>
                <th scope="row">
                  <Show when={row.token}>
                    {(token) => <i class="m-swatch" style={{ background: `var(--${token()})` }} />}
                  </Show>
                  {row.label}
                </th>
                <td>{row.value}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={step()}>
        {(found) => (
          <div class="m-go">
            {found().isThere
              ? `click opens ${found().step.evaluation ? 'eval step' : 'step'} ${found().step.id}`
              : `step ${found().step.id} has no dump that can be read`}
          </div>
        )}
      </Show>
    </>
  );
}
