// A series over the whole response: at every pixel the least and greatest value, with bands for prompt and mask below.
// A drag zooms, a double click shows everything, a click goes to the token.

import { createMemo, createSignal, onCleanup, type JSX } from 'solid-js';
import type { TokenSeries } from '../../api';
import { color } from '../../design/theme';
import { Canvas, format, type Picture, type Span } from '../../kit';
import { ticks } from '../rollouts/stats';
import type { Scale } from './color';
import type { Loaded } from './loader';

const LEFT = 46;
const BAND = 7;
const AXIS = 15;

export function Strip(props: {
  readonly loaded: Loaded;
  readonly series: TokenSeries | undefined;
  readonly scale: Scale | undefined;
  readonly span: Span;
  /** Tokens that are in sight below. */
  readonly seen: Span;
  readonly marked: number | null;
  readonly outliers: readonly number[];
  readonly height: number;
  readonly onSpan: (span: Span | undefined) => void;
  readonly onPick: (at: number) => void;
}): JSX.Element {
  const [width, setWidth] = createSignal(600);
  const [drag, setDrag] = createSignal<Span>();
  const plot = (): number => Math.max(20, width() - LEFT - 4);
  const px = (at: number): number => LEFT + ((at - props.span[0]) / (props.span[1] - props.span[0])) * plot();
  const unit = (x: number): number => props.span[0] + ((x - LEFT) / plot()) * (props.span[1] - props.span[0]);

  const columns = createMemo(() => {
    const values = props.series && props.loaded.store.series[props.series];
    const n = Math.round(plot());
    const low = new Float32Array(n).fill(NaN);
    const high = new Float32Array(n).fill(NaN);
    if (values && props.loaded.version > 0) {
      const [from, to] = props.span;
      for (let at = Math.floor(from); at < to; at += 1) {
        const value = values[at] ?? NaN;
        if (Number.isNaN(value)) continue;
        const first = Math.max(0, Math.floor(((at - from) / (to - from)) * n));
        const last = Math.max(first + 1, Math.floor(((at + 1 - from) / (to - from)) * n));
        for (let column = first; column < Math.min(n, last); column += 1) {
          if (!((low[column] ?? NaN) <= value)) low[column] = value;
          if (!((high[column] ?? NaN) >= value)) high[column] = value;
        }
      }
    }
    let [least, most] = [Infinity, -Infinity];
    for (let column = 0; column < n; column += 1) {
      const [a, b] = [low[column] ?? NaN, high[column] ?? NaN];
      if (a < least) least = a;
      if (b > most) most = b;
    }
    return { low, high, least, most };
  });

  const draw = ({ ctx, width: wide, height }: Picture): void => {
    setWidth(wide);
    const { low, high, least, most } = columns();
    const bottom = height - BAND - AXIS - 2;
    ctx.font = '11px system-ui, sans-serif';
    const { store } = props.loaded;
    // What is not loaded yet.
    ctx.fillStyle = color('surface-2');
    store.loaded.forEach((there, chunk) => {
      if (there === 0)
        ctx.fillRect(px(chunk * 4096), 0, Math.max(1, px((chunk + 1) * 4096) - px(chunk * 4096)), bottom);
    });
    if (most >= least) {
      const margin = (most - least) * 0.06 || Math.abs(most) * 0.1 || 0.5;
      const [y0, y1] = [least - margin, most + margin];
      const py = (value: number): number => 3 + ((y1 - value) / (y1 - y0)) * (bottom - 6);
      ctx.strokeStyle = color('grid');
      ctx.fillStyle = color('axis');
      ctx.textAlign = 'right';
      ctx.textBaseline = 'middle';
      for (const tick of ticks(y0, y1, bottom / 18)) {
        const at = Math.round(py(tick)) + 0.5;
        if (at < 4 || at > bottom - 2) continue;
        ctx.beginPath();
        ctx.moveTo(LEFT, at);
        ctx.lineTo(wide, at);
        ctx.stroke();
        ctx.fillText(format.short(tick), LEFT - 5, at);
      }
      const center = props.scale?.kind === 'diverging' ? props.scale.center : undefined;
      for (let column = 0; column < low.length; column += 1) {
        const [a, b] = [low[column] ?? NaN, high[column] ?? NaN];
        if (Number.isNaN(a)) continue;
        const [top, end] = [py(b), py(a)];
        if (center === undefined) {
          ctx.fillStyle = color('series-5');
          ctx.fillRect(LEFT + column, top - 0.5, 1, Math.max(1.5, end - top));
        } else {
          const middle = py(center);
          ctx.fillStyle = color('series-2');
          if (b > center)
            ctx.fillRect(LEFT + column, top - 0.5, 1, Math.max(1, Math.min(end, middle) - top + 0.5));
          ctx.fillStyle = color('series-1');
          if (a < center)
            ctx.fillRect(
              LEFT + column,
              Math.max(top, middle),
              1,
              Math.max(1, end - Math.max(top, middle) + 0.5),
            );
        }
      }
    } else {
      ctx.fillStyle = color('text-3');
      ctx.textAlign = 'left';
      ctx.fillText(
        props.series === undefined ? 'no series was recorded' : 'no value in this part',
        LEFT + 8,
        bottom / 2,
      );
    }
    // Bands: prompt, masked, scored.
    const band = (from: number, to: number, fill: string): void => {
      const [a, b] = [Math.max(LEFT, px(from)), Math.min(wide, px(to))];
      ctx.fillStyle = fill;
      if (b > a) ctx.fillRect(a, bottom + 2, Math.max(0.75, b - a), BAND);
    };
    band(0, store.prompt, color('series-7'));
    const { mask } = store;
    if (mask) {
      let begin = store.prompt;
      for (let at = store.prompt; at <= store.total; at += 1) {
        if (at < store.total && mask[at] === mask[begin]) continue;
        if (mask[begin] !== 255) band(begin, at, color(mask[begin] === 1 ? 'series-3' : 'border-strong'));
        begin = at;
      }
    } else band(store.prompt, store.total, color('series-3'));
    ctx.fillStyle = color('axis');
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'center';
    for (const tick of ticks(props.span[0], props.span[1], plot() / 110)) {
      const at = px(tick);
      if (at > LEFT + 8 && at < wide - 16) ctx.fillText(format.count(tick), at, height - 2);
    }
    ctx.fillStyle = color('critical');
    for (const at of props.outliers) {
      const x = px(at + 0.5);
      if (x < LEFT || x > wide) continue;
      ctx.beginPath();
      ctx.moveTo(x - 3.5, 0);
      ctx.lineTo(x + 3.5, 0);
      ctx.lineTo(x, 5);
      ctx.fill();
    }
  };
  const drawAbove = ({ ctx, height }: Picture): void => {
    const bottom = height - AXIS;
    const [a, b] = [px(Math.max(props.seen[0], props.span[0])), px(Math.min(props.seen[1], props.span[1]))];
    ctx.strokeStyle = color('cursor');
    ctx.strokeRect(a + 0.5, 0.5, Math.max(2, b - a), bottom - 1);
    const dragged = drag();
    if (dragged) {
      ctx.fillStyle = color('selection');
      ctx.fillRect(px(dragged[0]), 0, px(dragged[1]) - px(dragged[0]), bottom);
    }
    if (props.marked !== null) {
      ctx.fillStyle = color('accent');
      ctx.fillRect(px(props.marked + 0.5) - 0.75, 0, 1.5, bottom);
    }
  };
  const listen = (element: HTMLCanvasElement): void => {
    const stop = new AbortController();
    const on = { signal: stop.signal };
    onCleanup(() => stop.abort());
    let start: number | undefined;
    const at = (event: PointerEvent): number =>
      Math.min(
        props.span[1],
        Math.max(props.span[0], unit(event.clientX - element.getBoundingClientRect().left)),
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
        if (start === undefined) return;
        const now = at(event);
        if (drag() || Math.abs(px(now) - px(start)) > 4)
          setDrag([Math.min(start, now), Math.max(start, now)]);
      },
      on,
    );
    element.addEventListener(
      'pointerup',
      (event) => {
        const range = drag();
        const was = start;
        start = undefined;
        setDrag(undefined);
        if (was === undefined) return;
        if (range)
          props.onSpan([
            Math.floor(range[0]),
            Math.min(props.loaded.store.total, Math.max(Math.ceil(range[1]), Math.floor(range[0]) + 4)),
          ]);
        else props.onPick(Math.min(props.loaded.store.total - 1, Math.floor(at(event))));
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
    element.addEventListener('dblclick', () => props.onSpan(undefined), on);
  };
  return (
    <div class="s-strip">
      <Canvas
        label={`${props.series ?? 'Tokens'} over tokens ${Math.floor(props.span[0])} to ${Math.ceil(props.span[1])}`}
        height={props.height}
        draw={draw}
      />
      <Canvas
        label="Tokens that are in sight, and the marked one"
        class="s-above"
        height={props.height}
        draw={drawAbove}
        ref={listen}
      />
    </div>
  );
}
