// A line chart: uPlot with our looks, a zoom and a cursor that charts share, keys, and a click that says which point.
// The data is handed to uPlot as it is; nothing is painted while neither data, zoom, size nor theme changes.

import { createEffect, createMemo, createSignal, on, onCleanup, onMount, untrack, type JSX } from 'solid-js';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { color, isDark } from '../design/theme';
import { chartOptions, shapeOf, type Line, type Range } from './chart-options';
import { short } from './format';

export type { Line, Range } from './chart-options';

export interface LineChartData {
  /** Ascending. Unix seconds where `time`. */
  readonly x: readonly number[];
  readonly lines: readonly Line[];
}

export interface Hovered {
  /** Index into `x`. */
  readonly index: number;
  readonly x: number;
  /** In the window, for a card beside the pointer. */
  readonly left: number;
  readonly top: number;
}

export interface LineChartProps {
  /** Memoise it: a new object is painted. */
  readonly data: LineChartData;
  /** CSS pixels. */
  readonly height: number;
  /** What it shows, for who cannot see it. */
  readonly label: string;
  /** The x axis is wall clock. */
  readonly time?: boolean;
  readonly log?: boolean;
  /** Shown part of x; everything without one. */
  readonly range?: Range | undefined;
  /** A drag chose a part; a double click sends undefined. */
  readonly onRange?: (range: Range | undefined) => void;
  /** Charts of one group share the cursor. */
  readonly group?: string;
  /** The pointer or the keys are at a point of this chart. */
  readonly onHover?: (hovered: Hovered | undefined) => void;
  /** Where the cursor is, also when another chart of the group has it. */
  readonly onCursor?: (index: number | undefined) => void;
  /** A click near a point, or Enter. */
  readonly onPick?: (index: number) => void;
  readonly formatY?: (value: number) => string;
  /** Bounds of y where the data is inside of them, such as [0, 1]. */
  readonly yRange?: readonly [number | null, number | null];
  /** The pixels, for a picture; gone when the chart is. */
  readonly ref?: (canvas: () => HTMLCanvasElement | undefined) => void;
}

/** A press that moves less is a click. */
const CLICK_PIXELS = 5;
const NO_BOUNDS: readonly [null, null] = [null, null];

/** Log axes show positive values; others are gaps there. */
const onLog = (y: readonly (number | null)[]): (number | null)[] =>
  y.map((value) => (value !== null && value > 0 ? value : null));

export function LineChart(props: LineChartProps): JSX.Element {
  let place!: HTMLDivElement;
  let chart: uPlot | undefined;
  const [width, setWidth] = createSignal(0);

  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(place.clientWidth));
    observer.observe(place);
    onCleanup(() => observer.disconnect());
    props.ref?.(() => chart?.ctx.canvas);
  });
  onCleanup(() => chart?.destroy());

  const aligned = (): uPlot.AlignedData => [
    props.data.x as number[],
    ...props.data.lines.map((line) => (props.log === true ? onLog(line.y) : (line.y as (number | null)[]))),
  ];
  const fixed = () => ({
    lines: props.data.lines,
    time: props.time === true,
    log: props.log === true,
    group: props.group,
    yRange: props.yRange ?? NO_BOUNDS,
  });
  const shape = createMemo(() => `${shapeOf(fixed())} ${isDark()}`);

  function make(): void {
    chart?.destroy();
    const options = chartOptions({
      ...fixed(),
      width: width(),
      height: props.height,
      color,
      fontFamily: getComputedStyle(place).fontFamily,
      formatY: props.formatY ?? short,
      range: () => untrack(() => props.range),
    });
    chart = new uPlot({ ...options, hooks: { setSelect: [choose], setCursor: [moved] } }, aligned(), place);
    listenTo(chart);
  }

  /** A drag has chosen a part of x. */
  function choose(u: uPlot): void {
    if (u.select.width < CLICK_PIXELS) return;
    const from = u.posToVal(u.select.left, 'x');
    const to = u.posToVal(u.select.left + u.select.width, 'x');
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    props.onRange?.([from, to]);
  }

  /** The cursor is at another point, by our pointer or keys or by another chart of the group. */
  function moved(u: uPlot): void {
    const { idx, left, top } = u.cursor;
    const inside = idx !== null && idx !== undefined && left !== undefined && left >= 0;
    props.onCursor?.(inside ? idx : undefined);
    if (!props.onHover) return;
    const x = inside ? u.data[0][idx] : undefined;
    if (!inside || x === undefined || !place.matches(':hover, :focus-visible')) {
      props.onHover(undefined);
      return;
    }
    const box = u.over.getBoundingClientRect();
    props.onHover({
      index: idx,
      x,
      left: box.left + u.valToPos(x, 'x'),
      top: box.top + Math.max(0, top ?? 0),
    });
  }

  function listenTo(u: uPlot): void {
    let pressed: PointerEvent | undefined;
    u.over.addEventListener('pointerdown', (event) => (pressed = event));
    u.over.addEventListener('click', (event) => {
      const far = pressed ? Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) : 0;
      // By where it was pressed: a tap has moved no cursor before.
      const index = u.posToIdx(event.clientX - u.over.getBoundingClientRect().left);
      if (far < CLICK_PIXELS && u.data[0].length > 0) props.onPick?.(index);
    });
    u.over.addEventListener('dblclick', () => props.onRange?.(undefined));
    u.over.addEventListener('mouseleave', () => props.onHover?.(undefined));
  }

  const cursorTo = (index: number): void => {
    const x = chart?.data[0][index];
    if (!chart || x === undefined) return;
    chart.setCursor({ left: chart.valToPos(x, 'x'), top: 0 }, true);
  };
  const zoomBy = (factor: number): void => {
    const { min, max } = chart?.scales.x ?? {};
    if (min === undefined || max === undefined) return;
    const at = chart?.cursor.idx;
    const centre =
      at === null || at === undefined ? (min + max) / 2 : (chart?.data[0][at] ?? (min + max) / 2);
    props.onRange?.([centre - (centre - min) * factor, centre + (max - centre) * factor]);
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!chart || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = chart.data[0].length - 1;
    const at = chart.cursor.idx ?? -1;
    const by = event.shiftKey ? 10 : 1;
    const actions: Readonly<Record<string, () => void>> = {
      ArrowLeft: () => cursorTo(Math.max(0, at < 0 ? last : at - by)),
      ArrowRight: () => cursorTo(Math.min(last, at + by)),
      Home: () => cursorTo(0),
      End: () => cursorTo(last),
      '+': () => zoomBy(0.6),
      '=': () => zoomBy(0.6),
      '-': () => zoomBy(1 / 0.6),
      '0': () => props.onRange?.(undefined),
      Enter: () => at >= 0 && props.onPick?.(at),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    event.stopPropagation();
    action();
  };

  // A new chart where its shape is new; else only what changed is given to it.
  const ready = createMemo(() => width() > 0);
  createEffect(on([ready, shape], ([is]) => is && untrack(make)));
  createEffect(
    on(
      () => props.data,
      () => chart?.setData(untrack(aligned), true),
      { defer: true },
    ),
  );
  createEffect(
    on(
      () => props.range,
      // The scale's own range function knows better: this only makes it ask.
      () => chart?.setScale('x', { min: chart.data[0][0] ?? 0, max: chart.data[0].at(-1) ?? 1 }),
      { defer: true },
    ),
  );
  createEffect(
    on([width, () => props.height], ([w, h]) => {
      if (chart && w > 0 && (chart.width !== w || chart.height !== h)) chart.setSize({ width: w, height: h });
    }),
  );

  return (
    <div
      ref={place}
      class="k-chart"
      role="group"
      aria-roledescription="chart"
      aria-label={props.label}
      tabIndex={0}
      style={{ height: `${props.height}px` }}
      onKeyDown={onKey}
      onFocusOut={() => {
        props.onHover?.(undefined);
        chart?.setCursor({ left: -10, top: -10 }, true);
      }}
    />
  );
}
