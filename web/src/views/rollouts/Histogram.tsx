// How one column is spread: all samples pale, those that pass the filters in colour. A drag filters to a range.

import { createMemo, createSignal, onCleanup, Show, type JSX } from 'solid-js';
import { color } from '../../design/theme';
import { Canvas, format, type Picture } from '../../kit';
import { cellNumber, type Row } from './columns';
import { rangeFilter, readRange, type Filters } from './filters';
import { histogram, ticks } from './stats';

const LEFT = 40;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;

export function Histogram(props: {
  readonly rows: readonly Row[];
  readonly shown: readonly Row[];
  readonly column: string;
  readonly filters: Filters;
  readonly height: number;
  readonly onBrush: (expression: string) => void;
}): JSX.Element {
  const [size, setSize] = createSignal({ width: 300, height: 200 });
  const [drag, setDrag] = createSignal<readonly [number, number]>();
  const bins = createMemo(() => histogram(props.rows.map((row) => cellNumber(row[props.column]))));
  const inside = createMemo(() => {
    const all = bins();
    if (!all) return [];
    const counts = all.counts.map(() => 0);
    for (const row of props.shown) {
      const value = cellNumber(row[props.column]);
      if (value === null) continue;
      const at = Math.min(counts.length - 1, Math.max(0, Math.floor((value - all.low) / all.width)));
      counts[at] = (counts[at] ?? 0) + 1;
    }
    return counts;
  });
  const span = (): readonly [number, number] => {
    const all = bins();
    return all ? [all.low, all.low + all.width * all.counts.length] : [0, 1];
  };
  const px = (value: number): number =>
    LEFT + ((value - span()[0]) / (span()[1] - span()[0])) * (size().width - LEFT - RIGHT);
  const value = (at: number): number =>
    span()[0] + ((at - LEFT) / (size().width - LEFT - RIGHT)) * (span()[1] - span()[0]);

  const draw = ({ ctx, width, height }: Picture): void => {
    setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    const all = bins();
    if (!all) return;
    const most = Math.max(1, ...all.counts);
    const py = (n: number): number => height - BOTTOM - (n / most) * (height - TOP - BOTTOM);
    ctx.font = '11px system-ui, sans-serif';
    ctx.fillStyle = color('axis');
    ctx.strokeStyle = color('grid');
    ctx.textAlign = 'right';
    ctx.textBaseline = 'middle';
    for (const tick of ticks(0, most, (height - TOP - BOTTOM) / 34)) {
      if (!Number.isInteger(tick)) continue;
      const at = Math.round(py(tick)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(LEFT, at);
      ctx.lineTo(width - RIGHT, at);
      ctx.stroke();
      ctx.fillText(format.short(tick), LEFT - 6, at);
    }
    ctx.textAlign = 'center';
    ctx.textBaseline = 'alphabetic';
    for (const tick of ticks(span()[0], span()[1], (width - LEFT - RIGHT) / 70)) {
      ctx.fillText(format.short(tick), px(tick), height - 7);
    }
    const bars = (counts: readonly number[], fill: string, alpha: number): void => {
      ctx.fillStyle = fill;
      ctx.globalAlpha = alpha;
      counts.forEach((n, at) => {
        if (n === 0) return;
        const [left, right] = [px(all.low + at * all.width), px(all.low + (at + 1) * all.width)];
        // One sample among thousands is still seen.
        const top = Math.min(py(n), height - BOTTOM - 1.5);
        ctx.fillRect(left + 0.5, top, Math.max(1, right - left - 1), height - BOTTOM - top);
      });
      ctx.globalAlpha = 1;
    };
    bars(all.counts, color('border-strong'), 0.3);
    bars(inside(), color('series-1'), 0.85);
    const chosen = drag() ?? readRange(props.filters[props.column]);
    if (chosen) {
      const left = Math.max(LEFT, px(Math.max(chosen[0], span()[0])));
      const right = Math.min(width - RIGHT, px(Math.min(chosen[1], span()[1])));
      ctx.fillStyle = color('selection');
      ctx.fillRect(left, TOP, right - left, height - TOP - BOTTOM);
    }
  };

  const listen = (element: HTMLCanvasElement): void => {
    const stop = new AbortController();
    const on = { signal: stop.signal };
    onCleanup(() => stop.abort());
    let start: number | undefined;
    const at = (event: PointerEvent): number =>
      value(
        Math.min(size().width - RIGHT, Math.max(LEFT, event.clientX - element.getBoundingClientRect().left)),
      );
    element.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        start = at(event);
        element.setPointerCapture(event.pointerId);
      },
      on,
    );
    element.addEventListener(
      'pointermove',
      (event) => {
        if (start !== undefined) setDrag([Math.min(start, at(event)), Math.max(start, at(event))]);
      },
      on,
    );
    element.addEventListener(
      'pointerup',
      () => {
        const range = drag();
        start = undefined;
        setDrag(undefined);
        if (range && Math.abs(px(range[1]) - px(range[0])) > 3)
          props.onBrush(rangeFilter(range[0], range[1]));
      },
      on,
    );
    element.addEventListener(
      'pointercancel',
      () => {
        start = undefined;
        setDrag(undefined);
      },
      on,
    );
    element.addEventListener('dblclick', () => props.onBrush(''), on);
  };

  return (
    <div class="r-layers r-histogram">
      <Canvas label={`Histogram of ${props.column}`} height={props.height} draw={draw} ref={listen} />
      <Show when={bins() === undefined}>
        <p class="r-layer-note">No sample has {props.column}.</p>
      </Show>
      <Show when={(bins()?.missing ?? 0) > 0 && bins()}>
        {(all) => <p class="r-corner-note">{format.count(all().missing)} missing</p>}
      </Show>
    </div>
  );
}
