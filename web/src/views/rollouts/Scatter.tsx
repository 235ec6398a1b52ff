// Any two columns against each other. Dragging a box filters the table to it; a click opens the sample under it.

import { createMemo, createSignal, onCleanup, Show, type JSX } from 'solid-js';
import { color } from '../../design/theme';
import { Canvas, format, HoverCard, type Picture } from '../../kit';
import { cellNumber, cellText, columnSpec, rewardOf, type Row } from './columns';
import { rangeFilter, readRange, type Filters } from './filters';
import { ticks } from './stats';

const LEFT = 52;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;
const CLICK_PIXELS = 4;
const REACH = 9;

interface Point {
  readonly row: Row;
  readonly x: number;
  readonly y: number;
  readonly inside: boolean;
}

type Box = readonly [number, number, number, number];

/** Least and greatest with a margin. */
function extent(values: readonly number[]): readonly [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  const margin = high === low ? Math.abs(low) * 0.1 || 0.5 : (high - low) * 0.05;
  return [low - margin, high + margin];
}

export function Scatter(props: {
  readonly rows: readonly Row[];
  /** What passes the filters. */
  readonly shown: ReadonlySet<Row>;
  readonly x: string;
  readonly y: string;
  readonly filters: Filters;
  readonly height: number;
  readonly onBrush: (filters: Readonly<Record<string, string>>) => void;
  readonly onOpen: (row: Row) => void;
  readonly hrefKeys?: boolean;
}): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [size, setSize] = createSignal({ width: 300, height: 200 });
  const [box, setBox] = createSignal<Box>();
  const [hover, setHover] = createSignal<{ readonly point: Point; readonly at: { x: number; y: number } }>();

  const points = createMemo((): readonly Point[] => {
    const all: Point[] = [];
    for (const row of props.rows) {
      const [x, y] = [cellNumber(row[props.x]), cellNumber(row[props.y])];
      if (x !== null && y !== null) all.push({ row, x, y, inside: props.shown.has(row) });
    }
    return all;
  });
  const xs = createMemo(() => extent(points().map((point) => point.x)));
  const ys = createMemo(() => extent(points().map((point) => point.y)));
  const px = (value: number): number =>
    LEFT + ((value - xs()[0]) / (xs()[1] - xs()[0])) * (size().width - LEFT - RIGHT);
  const py = (value: number): number =>
    size().height - BOTTOM - ((value - ys()[0]) / (ys()[1] - ys()[0])) * (size().height - TOP - BOTTOM);
  const vx = (at: number): number =>
    xs()[0] + ((at - LEFT) / (size().width - LEFT - RIGHT)) * (xs()[1] - xs()[0]);
  const vy = (at: number): number =>
    ys()[0] + ((size().height - BOTTOM - at) / (size().height - TOP - BOTTOM)) * (ys()[1] - ys()[0]);

  const draw = ({ ctx, width, height }: Picture): void => {
    setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    ctx.font = '11px system-ui, sans-serif';
    ctx.lineWidth = 1;
    ctx.fillStyle = color('axis');
    ctx.strokeStyle = color('grid');
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'right';
    for (const tick of ticks(ys()[0], ys()[1], (height - TOP - BOTTOM) / 36)) {
      const at = Math.round(py(tick)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(LEFT, at);
      ctx.lineTo(width - RIGHT, at);
      ctx.stroke();
      ctx.fillText(format.short(tick), LEFT - 6, at);
    }
    ctx.textBaseline = 'alphabetic';
    ctx.textAlign = 'center';
    for (const tick of ticks(xs()[0], xs()[1], (width - LEFT - RIGHT) / 70)) {
      const at = Math.round(px(tick)) + 0.5;
      ctx.beginPath();
      ctx.moveTo(at, TOP);
      ctx.lineTo(at, height - BOTTOM);
      ctx.stroke();
      ctx.fillText(format.short(tick), at, height - 7);
    }
    const many = points().length > 1500;
    const radius = many ? 2 : 3;
    // Those outside first, so that none of them lies on one that is shown.
    for (const inside of [false, true]) {
      for (const point of points()) {
        if (point.inside !== inside) continue;
        const reward = rewardOf(point.row);
        ctx.fillStyle = !inside
          ? color('border-strong')
          : reward === null
            ? color('series-5')
            : color(reward > 0 ? 'series-1' : 'series-2');
        ctx.globalAlpha = inside ? (many ? 0.55 : 0.75) : 0.25;
        ctx.beginPath();
        ctx.arc(px(point.x), py(point.y), radius, 0, 7);
        ctx.fill();
      }
    }
    ctx.globalAlpha = 1;
  };

  const drawAbove = ({ ctx }: Picture): void => {
    const dragged = box();
    const [fx, fy] = [readRange(props.filters[props.x]), readRange(props.filters[props.y])];
    const cut = (value: number, [low, high]: readonly [number, number]): number =>
      Math.min(Math.max(value, low), high);
    const shown: Box | undefined =
      dragged ??
      (fx && fy
        ? [px(cut(fx[0], xs())), py(cut(fy[1], ys())), px(cut(fx[1], xs())), py(cut(fy[0], ys()))]
        : undefined);
    if (shown) {
      ctx.fillStyle = color('selection');
      ctx.strokeStyle = color('accent');
      ctx.fillRect(shown[0], shown[1], shown[2] - shown[0], shown[3] - shown[1]);
      ctx.strokeRect(shown[0] + 0.5, shown[1] + 0.5, shown[2] - shown[0], shown[3] - shown[1]);
    }
    const at = hover();
    if (at) {
      ctx.strokeStyle = color('text');
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.arc(px(at.point.x), py(at.point.y), 5, 0, 7);
      ctx.stroke();
    }
  };

  const nearest = (x: number, y: number): Point | undefined => {
    let best: Point | undefined;
    let least = REACH ** 2;
    for (const point of points()) {
      const far = (px(point.x) - x) ** 2 + (py(point.y) - y) ** 2 + (point.inside ? 0 : 4);
      if (far < least) [best, least] = [point, far];
    }
    return best;
  };

  const listen = (element: HTMLCanvasElement): void => {
    canvas = element;
    const stop = new AbortController();
    const on = { signal: stop.signal };
    onCleanup(() => stop.abort());
    let start: readonly [number, number] | undefined;
    const place = (event: PointerEvent): readonly [number, number] => {
      const edge = canvas.getBoundingClientRect();
      return [event.clientX - edge.left, event.clientY - edge.top];
    };
    element.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        start = place(event);
        element.setPointerCapture(event.pointerId);
      },
      on,
    );
    element.addEventListener(
      'pointermove',
      (event) => {
        const [x, y] = place(event);
        if (!start) {
          const point = nearest(x, y);
          setHover(point && { point, at: { x: event.clientX, y: event.clientY } });
          element.style.cursor = point ? 'pointer' : 'crosshair';
          return;
        }
        if (!box() && Math.hypot(x - start[0], y - start[1]) < CLICK_PIXELS) return;
        setHover(undefined);
        setBox([
          Math.max(LEFT, Math.min(start[0], x)),
          Math.max(TOP, Math.min(start[1], y)),
          Math.min(size().width - RIGHT, Math.max(start[0], x)),
          Math.min(size().height - BOTTOM, Math.max(start[1], y)),
        ]);
      },
      on,
    );
    element.addEventListener(
      'pointerup',
      (event) => {
        const drawn = box();
        const was = start;
        start = undefined;
        setBox(undefined);
        if (!was) return;
        if (drawn) {
          props.onBrush({
            [props.x]: rangeFilter(vx(drawn[0]), vx(drawn[2])),
            [props.y]: rangeFilter(vy(drawn[3]), vy(drawn[1])),
          });
          return;
        }
        const point = nearest(...place(event));
        if (point) props.onOpen(point.row);
      },
      on,
    );
    element.addEventListener(
      'pointercancel',
      () => {
        start = undefined;
        setBox(undefined);
      },
      on,
    );
    element.addEventListener('pointerleave', () => setHover(undefined), on);
    element.addEventListener('dblclick', () => props.onBrush({ [props.x]: '', [props.y]: '' }), on);
  };

  return (
    <div class="r-layers" style={{ height: `${props.height}px` }}>
      <Canvas
        label={`${props.y} over ${props.x}, ${format.plural(points().length, 'sample')}. The filters of the table's columns do the same as dragging a box.`}
        height={props.height}
        draw={draw}
      />
      <Canvas
        label="The part that filters the table"
        class="r-above"
        height={props.height}
        draw={drawAbove}
        ref={listen}
      />
      <Show when={points().length === 0}>
        <p class="r-layer-note">
          No sample has both {props.x} and {props.y}.
        </p>
      </Show>
      <HoverCard at={hover()?.at}>
        <Show when={hover()}>
          {(at) => (
            <dl class="r-facts">
              <dt>sample</dt>
              <dd>{format.cell(at().point.row.sample_index)}</dd>
              <dt>{props.x}</dt>
              <dd>{cellText(columnSpec(props.x, props.rows).kind, at().point.row[props.x])}</dd>
              <dt>{props.y}</dt>
              <dd>{cellText(columnSpec(props.y, props.rows).kind, at().point.row[props.y])}</dd>
              <dt>reward</dt>
              <dd>{format.num(rewardOf(at().point.row))}</dd>
            </dl>
          )}
        </Show>
      </HoverCard>
    </div>
  );
}
