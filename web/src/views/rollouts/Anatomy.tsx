// Batch anatomy: one row a sample over wall clock, from its submission to the moment training took the batch.
// Rows scroll as the page does, Ctrl+wheel zooms at the pointer, a drag pans, a click opens the sample.

import { createEffect, createMemo, createSignal, For, on, onCleanup, Show, type JSX } from 'solid-js';
import type { StepRef, Trajectories } from '../../api';
import { seriesToken } from '../../design/phases';
import { color } from '../../design/theme';
import { attachViewport, Canvas, format, HoverCard, Select, type Picture, type Span } from '../../kit';
import { codecs, useParam } from '../../state/router';
import {
  inFlight,
  ORDERS,
  orderLanes,
  timeSpan,
  timeTicks,
  turnsOf,
  versionsOf,
  type AnatomyRow,
  type Order,
} from './anatomy';
import { rewardOf, type Row } from './columns';

const LEFT = 64;
const RIGHT = 12;
const AXIS = 20;
const FLIGHT = 44;
const LEAST_ROW = 4;
const MOST_ROW = 18;

const ORDER_LABELS: Readonly<Record<Order, string>> = {
  submit: 'submission',
  finish: 'finish',
  staleness: 'staleness',
  span: 'span',
  reward: 'reward',
  turns: 'turns',
  group: 'group',
};

export function Anatomy(props: {
  readonly step: StepRef;
  readonly data: Trajectories;
  readonly rows: readonly Row[];
  /** Indices that pass the filters; undefined without filters. */
  readonly keep: ReadonlySet<number> | undefined;
  readonly height: number;
  readonly onOpen: (index: number) => void;
}): JSX.Element {
  const [order, setOrder] = useParam<Order>('order', codecs.choice(...ORDERS), 'submit');
  const [zoom, setZoom] = useParam<Span | null>('t', codecs.range as never, null);
  const [live, setLive] = createSignal<Span>();
  const [top, setTop] = createSignal(0);
  const [hover, setHover] = createSignal<{ readonly at: number; readonly x: number; readonly y: number }>();
  const [scroller, setScroller] = createSignal<HTMLDivElement>();
  const [canvas, setCanvas] = createSignal<HTMLCanvasElement>();

  const rows = createMemo(() => orderLanes(props.data.lanes, props.rows, order(), props.keep));
  const versions = createMemo(() => versionsOf(rows()));
  const full = createMemo((): Span => timeSpan(props.data.lanes, props.data.consume_ts) ?? [0, 1]);
  const span = (): Span => live() ?? zoom() ?? full();
  createEffect(on(zoom, () => setLive(undefined), { defer: true }));

  const body = (): number => Math.max(80, props.height - AXIS - FLIGHT);
  const rowHeight = createMemo(() =>
    Math.min(MOST_ROW, Math.max(LEAST_ROW, Math.floor((body() / Math.max(1, rows().length)) * 2) / 2)),
  );
  const bodyHeight = (): number => Math.min(body(), Math.ceil(rows().length * rowHeight()) + 4);
  const versionToken = (version: string | null): string => {
    const at = version === null ? -1 : versions().indexOf(version);
    return at < 0 ? 'phase-unknown' : seriesToken(at);
  };
  const plotWidth = (width: number): number => Math.max(10, width - LEFT - RIGHT);
  const x = (ts: number, width: number): number =>
    LEFT + ((ts - span()[0]) / (span()[1] - span()[0])) * plotWidth(width);

  const drawHead = ({ ctx, width }: Picture): void => {
    ctx.font = '11px system-ui, sans-serif';
    const buckets = Math.max(10, Math.floor(plotWidth(width) / 2));
    const { gen, tool, most } = inFlight(rows(), span(), buckets);
    const per = plotWidth(width) / buckets;
    const high = FLIGHT - 8;
    const base = FLIGHT - 2;
    for (let at = 0; at < buckets; at += 1) {
      const [g, t] = [gen[at] ?? 0, tool[at] ?? 0];
      if (most === 0) break;
      ctx.fillStyle = color('phase-rollout');
      ctx.globalAlpha = 0.65;
      ctx.fillRect(LEFT + at * per, base - (g / most) * high, per, (g / most) * high);
      ctx.fillStyle = color('phase-data');
      ctx.globalAlpha = 0.85;
      ctx.fillRect(LEFT + at * per, base - ((g + t) / most) * high, per, (t / most) * high);
    }
    ctx.globalAlpha = 1;
    ctx.fillStyle = color('axis');
    ctx.textAlign = 'right';
    ctx.fillText(format.num(most, 3), LEFT - 6, 14);
    ctx.fillText('under way', LEFT - 6, FLIGHT - 4);
    ctx.textAlign = 'center';
    ctx.strokeStyle = color('border');
    ctx.beginPath();
    ctx.moveTo(LEFT, FLIGHT - 1.5);
    ctx.lineTo(width - RIGHT, FLIGHT - 1.5);
    ctx.stroke();
    const seconds = (span()[1] - span()[0]) / Math.max(2, plotWidth(width) / 90);
    for (const tick of timeTicks(span(), plotWidth(width) / 90)) {
      ctx.fillText(format.clock(tick, seconds < 1), x(tick, width), FLIGHT + 13);
    }
  };

  const draw = ({ ctx, width, height }: Picture): void => {
    const all = rows();
    const high = rowHeight();
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.strokeStyle = color('grid');
    ctx.lineWidth = 1;
    for (const tick of timeTicks(span(), plotWidth(width) / 90)) {
      const at = Math.round(x(tick, width)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(at, 0);
      ctx.lineTo(at, height);
      ctx.stroke();
    }
    const first = Math.max(0, Math.floor(top() / high));
    const last = Math.min(all.length, Math.ceil((top() + height) / high));
    const gap = high >= 6 ? 1 : high >= 4 ? 0.5 : 0;
    ctx.save();
    ctx.beginPath();
    ctx.rect(LEFT, 0, plotWidth(width), height);
    ctx.clip();
    const bar = (from: number, to: number, y: number, tall: number): void => {
      const left = Math.max(LEFT - 2, x(from, width));
      const right = Math.min(width, x(to, width));
      if (right >= LEFT - 2 && left <= width) ctx.fillRect(left, y, Math.max(1, right - left), tall);
    };
    for (let at = first; at < last; at += 1) {
      const each = all[at];
      if (!each) continue;
      const y = at * high - top() + gap;
      const tall = high - 2 * gap;
      ctx.fillStyle = color('border-strong');
      ctx.globalAlpha = 0.4;
      for (const attempt of each.lane.attempts) {
        bar(attempt.t0 ?? each.lane.first_ts, attempt.t1 ?? each.lane.last_ts, y, tall);
      }
      ctx.globalAlpha = 1;
      for (const segment of each.lane.segments) {
        const [from, to] = [segment.t0 ?? each.lane.first_ts, segment.t1 ?? each.lane.last_ts];
        ctx.fillStyle =
          segment.kind === 'gen' ? color(versionToken(segment.weight_version)) : color('phase-data');
        ctx.globalAlpha = segment.t1 === null ? 0.55 : 1;
        if (segment.kind === 'gen') bar(from, to, y, tall);
        else bar(from, to, y + tall * 0.3, Math.max(1, tall * 0.4));
      }
      ctx.globalAlpha = 1;
      if (each.row?.remove_sample === true) {
        ctx.fillStyle = color('critical');
        bar(each.lane.first_ts, each.lane.last_ts, y + tall / 2 - 0.5, 1);
      }
    }
    const consume = props.data.consume_ts;
    if (consume !== null) {
      const at = Math.round(x(consume, width)) + 0.5;
      ctx.strokeStyle = color('text');
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      ctx.moveTo(at, 0);
      ctx.lineTo(at, height);
      ctx.stroke();
      ctx.setLineDash([]);
    }
    ctx.restore();
    ctx.textAlign = 'right';
    ctx.fillStyle = color('axis');
    const every = Math.max(1, Math.ceil(13 / high));
    for (let at = Math.ceil(first / every) * every; at < last; at += every) {
      const each = all[at];
      const y = at * high - top() + high / 2;
      if (each && y > 5) ctx.fillText(String(each.lane.sample_index), LEFT - 6, y);
    }
  };

  const drawAbove = ({ ctx, width, height }: Picture): void => {
    const at = hover();
    if (!at) return;
    ctx.strokeStyle = color('cursor');
    const y = at.at * rowHeight() - top();
    ctx.strokeRect(LEFT + 0.5, Math.round(y) + 0.5, plotWidth(width) - 1, Math.max(3, rowHeight() - 1));
    const left = (canvas()?.getBoundingClientRect().left ?? 0) + 0.5;
    ctx.globalAlpha = 0.5;
    ctx.beginPath();
    ctx.moveTo(at.x - left, 0);
    ctx.lineTo(at.x - left, height);
    ctx.stroke();
  };

  const rowAt = (clientY: number): number | undefined => {
    const edge = canvas()?.getBoundingClientRect();
    if (!edge) return undefined;
    const at = Math.floor((clientY - edge.top + top()) / rowHeight());
    return rows()[at] ? at : undefined;
  };

  const listen = (element: HTMLCanvasElement): void => {
    setCanvas(element);
    element.dataset.wheel = 'mod';
    const stop = attachViewport(element, {
      span,
      limits: () => ({
        full: full(),
        least: Math.min(0.05, full()[1] - full()[0]),
        most: full()[1] - full()[0],
      }),
      onSpan: (next, done) => {
        setLive(next);
        if (done)
          setZoom(next[1] - next[0] >= (full()[1] - full()[0]) * 0.999 ? null : next, { replace: true });
      },
      onReset: () => {
        setLive(undefined);
        setZoom(null, { replace: true });
      },
      plot: () => ({ left: LEFT, width: plotWidth(element.clientWidth) }),
      onClick: (event) => {
        const each = rows()[rowAt(event.clientY) ?? -1];
        if (each) props.onOpen(each.lane.sample_index);
      },
    });
    onCleanup(stop);
    element.addEventListener('pointermove', (event) => {
      const at = rowAt(event.clientY);
      setHover(at === undefined ? undefined : { at, x: event.clientX, y: event.clientY });
    });
    element.addEventListener('pointerleave', () => setHover(undefined));
    element.addEventListener('blur', () => setHover(undefined));
    element.addEventListener('keydown', (event) => {
      const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      const now = hover()?.at;
      if (event.key === 'Enter' && now !== undefined) {
        const each = rows()[now];
        if (each) props.onOpen(each.lane.sample_index);
      } else if (by !== 0) {
        const next = Math.max(0, Math.min(rows().length - 1, now === undefined ? 0 : now + by));
        const high = rowHeight();
        const frame = scroller();
        if (frame && next * high < frame.scrollTop) frame.scrollTop = next * high;
        if (frame && (next + 1) * high > frame.scrollTop + frame.clientHeight)
          frame.scrollTop = (next + 1) * high - frame.clientHeight;
        const edge = element.getBoundingClientRect();
        const each = rows()[next];
        setHover({
          at: next,
          x: edge.left + (each ? x(each.lane.last_ts, element.clientWidth) : LEFT),
          y: edge.top + (next + 1) * high - (frame?.scrollTop ?? 0),
        });
      } else return;
      event.preventDefault();
    });
  };

  const hovered = (): AnatomyRow | undefined => rows()[hover()?.at ?? -1];
  const withEvents = (): number => rows().length;

  return (
    <div class="r-anatomy">
      <div class="r-bar">
        <Select
          label="Sort by"
          showLabel
          value={order()}
          options={ORDERS.map((value) => ({ value, label: ORDER_LABELS[value] }))}
          onChange={(value) => setOrder(value)}
        />
        <ul class="r-legend" aria-label="Legend">
          <For each={versions()}>
            {(version) => (
              <li>
                <i class="r-swatch" style={{ background: `var(--${versionToken(version)})` }} />
                version {version}
              </li>
            )}
          </For>
          <li data-tip="Generation whose version nobody reported">
            <i class="r-swatch r-swatch-unknown" />
            no version
          </li>
          <li data-tip="A tool or the environment works; the model waits">
            <i class="r-swatch r-swatch-tool" />
            tool wait
          </li>
          <li data-tip="The sample’s attempt is open and nothing of the above goes on: queued, or between two calls">
            <i class="r-swatch r-swatch-attempt" />
            attempt
          </li>
          <Show when={props.data.consume_ts !== null}>
            <li data-tip="When training took the step">
              <i class="r-swatch r-swatch-consume" />
              consumed {format.clock(props.data.consume_ts)}
            </li>
          </Show>
        </ul>
        <span class="r-note">
          {format.plural(withEvents(), 'sample')} with events
          {props.rows.length > props.data.lanes.length
            ? `, ${props.rows.length - props.data.lanes.length} of the step without`
            : ''}
        </span>
      </div>
      <Canvas label="Samples under way over time" height={FLIGHT + AXIS} draw={drawHead} />
      <div
        class="r-anatomy-scroll"
        ref={setScroller}
        style={{ height: `${bodyHeight()}px` }}
        onScroll={(event) => {
          setTop(event.currentTarget.scrollTop);
          setHover(undefined);
        }}
      >
        <div style={{ height: `${Math.ceil(rows().length * rowHeight())}px` }}>
          <div class="r-anatomy-frame" style={{ height: `${bodyHeight()}px` }}>
            <Canvas
              label={`Batch anatomy of step ${props.step.id}: ${rows().length} samples over time`}
              height={bodyHeight()}
              draw={draw}
            />
            <Canvas
              label={`Batch anatomy of step ${props.step.id}. Arrow up and down choose a sample, Enter opens it, arrow left and right pan, plus and minus zoom, 0 shows everything.`}
              class="r-above"
              height={bodyHeight()}
              draw={drawAbove}
              focusable
              ref={listen}
            />
          </div>
        </div>
      </div>
      <HoverCard at={hover()}>
        <Show when={hovered()}>{(each) => <LaneFacts each={each()} consume={props.data.consume_ts} />}</Show>
      </HoverCard>
    </div>
  );
}

function LaneFacts(props: { readonly each: AnatomyRow; readonly consume: number | null }): JSX.Element {
  const lane = (): AnatomyRow['lane'] => props.each.lane;
  const sum = (kind: 'gen' | 'tool'): number => {
    const { segments, first_ts, last_ts } = lane();
    let total = 0;
    for (const each of segments)
      if (each.kind === kind) total += (each.t1 ?? last_ts) - (each.t0 ?? first_ts);
    return total;
  };
  const firstGen = (): number | null => lane().segments.find((each) => each.kind === 'gen')?.t0 ?? null;
  return (
    <dl class="r-facts">
      <dt>sample</dt>
      <dd>
        {lane().sample_index} in group {format.cell(lane().group_index)}
      </dd>
      <dt>status</dt>
      <dd>
        {format.cell(lane().status)}
        {props.each.row?.remove_sample === true ? ', removed' : ''}
      </dd>
      <dt>reward</dt>
      <dd>{format.num(props.each.row && rewardOf(props.each.row))}</dd>
      <dt>submitted</dt>
      <dd>{format.clock(lane().first_ts, true)}</dd>
      <dt>span</dt>
      <dd>{format.duration(lane().last_ts - lane().first_ts)}</dd>
      <dt>queued</dt>
      <dd>{firstGen() === null ? '–' : format.duration((firstGen() ?? 0) - lane().first_ts)}</dd>
      <dt>generating</dt>
      <dd>
        {format.duration(sum('gen'))} in {format.plural(turnsOf(props.each), 'call')}
      </dd>
      <dt>tool wait</dt>
      <dd>{lane().segments.some((each) => each.kind === 'tool') ? format.duration(sum('tool')) : '–'}</dd>
      <dt>attempts</dt>
      <dd>{lane().attempts.length}</dd>
      <dt>versions</dt>
      <dd>{lane().versions.join(', ') || '–'}</dd>
      <dt>staleness</dt>
      <dd>{format.num(props.each.row?.staleness)}</dd>
      <dt>until consumed</dt>
      <dd>{props.consume === null ? '–' : format.duration(props.consume - lane().last_ts)}</dd>
    </dl>
  );
}
