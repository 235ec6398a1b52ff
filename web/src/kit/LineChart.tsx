// A line chart: uPlot with our colours, a zoom and a cursor that charts share, and a click that says which point.
// The data is handed to uPlot as it is; nothing is painted while neither data, zoom, size nor theme changes.

import { createEffect, createSignal, on, onCleanup, onMount, untrack, type JSX } from 'solid-js';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { color, isDark } from '../design/theme';
import { clock, dateTime, short } from './format';

export interface Line {
  readonly label: string;
  /** A colour of tokens.css by name. */
  readonly token: string;
  readonly y: readonly (number | null)[];
  readonly width?: number;
  /** 0 to 1, for what stands behind. */
  readonly alpha?: number;
  readonly dash?: readonly number[];
  /** Points are marked where they are few; true marks them always, false never. */
  readonly points?: boolean;
}

export interface LineChartData {
  /** Ascending. Unix seconds where `time`. */
  readonly x: readonly number[];
  readonly lines: readonly Line[];
}

export type Range = readonly [number, number];

export interface Hovered {
  /** Index into `x`. */
  readonly index: number;
  readonly x: number;
  /** In the window, for a card beside the pointer. */
  readonly left: number;
  readonly top: number;
}

export interface LineChartProps {
  readonly data: LineChartData;
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
  readonly onHover?: (hovered: Hovered | undefined) => void;
  /** A click on or near a point. */
  readonly onPick?: (index: number) => void;
  readonly formatY?: (value: number) => string;
  /** Part of y that is always shown, such as [0, 1]. */
  readonly yRange?: readonly [number | null, number | null];
  /** Gives the chart, for a picture of it. */
  readonly ref?: (chart: uPlot) => void;
}

/** uPlot's scale distributions: its types have them as an enum that exists only there. */
/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment -- see above */
const LINEAR = 1 as uPlot.Scale.Distr;
const LOG = 3 as uPlot.Scale.Distr;
/* eslint-enable */

const fade = (rgb: string, alpha: number): string =>
  rgb.replace(
    /^rgba?\(([^)]+)\)$/,
    (_, parts: string) => `rgba(${parts.split(',').slice(0, 3).join(',')}, ${alpha})`,
  );

/** Log axes show positive values; others are gaps there. */
const onLog = (y: readonly (number | null)[]): (number | null)[] =>
  y.map((value) => (value !== null && value > 0 ? value : null));

function padded(min: number, max: number): [number, number] {
  if (min === max) {
    const pad = Math.abs(min) * 0.1 || 1;
    return [min - pad, max + pad];
  }
  const pad = (max - min) * 0.06;
  return [min - pad, max + pad];
}

export function LineChart(props: LineChartProps): JSX.Element {
  let place!: HTMLDivElement;
  const [width, setWidth] = createSignal(0);

  onMount(() => {
    const observer = new ResizeObserver(() => setWidth(place.clientWidth));
    observer.observe(place);
    onCleanup(() => observer.disconnect());
  });

  let chart: uPlot | undefined;
  const aligned = (): uPlot.AlignedData => [
    props.data.x as number[],
    ...props.data.lines.map((line) => (props.log === true ? onLog(line.y) : (line.y as (number | null)[]))),
  ];

  /** What cannot change without a new chart. */
  const shape = (): string =>
    JSON.stringify([
      props.data.lines.map(({ label, token, width: w, alpha, dash, points }) => [
        label,
        token,
        w,
        alpha,
        dash,
        points,
      ]),
      props.time,
      props.log,
      props.group,
      isDark(),
      props.yRange,
    ]);

  function make(): void {
    const shown = props.range;
    const isTime = props.time === true;
    const axis = color('axis');
    const grid = { stroke: color('grid'), width: 1 };
    const font = `11px ${getComputedStyle(place).fontFamily}`;
    const formatY = props.formatY ?? short;
    const options: uPlot.Options = {
      width: untrack(width),
      height: props.height,
      ms: 1e-3,
      legend: { show: false },
      padding: [8, 10, 0, 0],
      cursor: {
        ...(props.group === undefined ? {} : { sync: { key: props.group, setSeries: false } }),
        drag: { x: true, y: false, setScale: false, dist: 5 },
        points: { size: 7, width: 1.5 },
        focus: { prox: 24 },
        y: false,
      },
      scales: {
        x: { time: props.time === true, range: (_, min, max) => xRange(min, max) },
        y: {
          distr: props.log === true ? LOG : LINEAR,
          range: (_, min, max) => yRange(min, max),
        },
      },
      axes: [
        {
          stroke: axis,
          grid,
          ticks: { ...grid, size: 4 },
          font,
          size: 26,
          gap: 3,
          space: 60,
          values: (_, splits) => splits.map((v) => (isTime ? timeLabel(v, splits) : short(v))),
        },
        {
          stroke: axis,
          grid,
          ticks: { show: false },
          font,
          size: 48,
          gap: 4,
          space: 32,
          values: (_, splits) => splits.map((v) => ((v as number | null) === null ? '' : formatY(v))),
        },
      ],
      series: [
        {},
        ...props.data.lines.map((line): uPlot.Series => {
          const stroke = color(line.token);
          return {
            label: line.label,
            stroke: line.alpha === undefined ? stroke : fade(stroke, line.alpha),
            width: line.width ?? 1.5,
            ...(line.dash ? { dash: [...line.dash] } : {}),
            spanGaps: false,
            // eslint-disable-next-line solid/reactivity -- uPlot calls it while it paints
            points:
              line.points === undefined
                ? { size: 5, show: (u, _, from, to) => to - from < u.bbox.width / devicePixelRatio / 14 }
                : { size: 5, show: line.points },
          };
        }),
      ],
      hooks: {
        setSelect: [
          (u) => {
            if (u.select.width < 4) return;
            const from = u.posToVal(u.select.left, 'x');
            const to = u.posToVal(u.select.left + u.select.width, 'x');
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            props.onRange?.([from, to]);
          },
        ],
        setCursor: [(u) => hover(u)],
      },
    };
    chart?.destroy();
    chart = new uPlot(options, aligned(), place);
    if (shown) chart.setScale('x', { min: shown[0], max: shown[1] });
    listenTo(chart);
    props.ref?.(chart);
  }

  const xRange = (min: number | null, max: number | null): [number, number] => {
    const shown = untrack(() => props.range);
    if (shown) return [shown[0], shown[1]];
    if (min === null || max === null) return [0, 1];
    return min === max ? [min - 0.5, max + 0.5] : [min, max];
  };

  const yRange = (min: number | null, max: number | null): [number, number] => {
    if (min === null || max === null) return props.log === true ? [0.1, 10] : [0, 1];
    if (props.log === true) {
      return uPlot.rangeLog(min, max, 10, false) as [number, number];
    }
    const [least, most] = props.yRange ?? [null, null];
    const [from, to] = padded(min, max);
    return [least === null ? from : Math.min(least, min), most === null ? to : Math.max(most, max)];
  };

  function timeLabel(value: number, splits: readonly number[]): string {
    const step = (splits[1] ?? value) - (splits[0] ?? value);
    if (step >= 86_400) return dateTime(value).slice(5, 10);
    return step >= 60 ? clock(value).slice(0, 5) : clock(value);
  }

  function hover(u: uPlot): void {
    const { idx, left, top } = u.cursor;
    // Only the chart under the pointer has a card; the others follow the line.
    const isOwn = u.cursor.event !== undefined && place.matches(':hover');
    if (!props.onHover) return;
    if (idx === null || idx === undefined || left === undefined || left < 0 || !isOwn) {
      props.onHover(undefined);
      return;
    }
    const box = u.over.getBoundingClientRect();
    const x = u.data[0][idx];
    if (x === undefined) return;
    props.onHover({ index: idx, x, left: box.left + u.valToPos(x, 'x'), top: box.top + (top ?? 0) });
  }

  function listenTo(u: uPlot): void {
    let pressed: { x: number; y: number } | undefined;
    u.over.addEventListener('pointerdown', (event) => (pressed = { x: event.clientX, y: event.clientY }));
    u.over.addEventListener('click', (event) => {
      const moved = pressed ? Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) : 0;
      const { idx } = u.cursor;
      if (moved < 5 && idx !== null && idx !== undefined) props.onPick?.(idx);
    });
    u.over.addEventListener('dblclick', () => props.onRange?.(undefined));
    u.over.addEventListener('mouseleave', () => props.onHover?.(undefined));
  }

  // A new chart where its shape is new; else only what changed is given to it.
  createEffect(() => {
    const ready = width() > 0;
    shape();
    if (ready) untrack(make);
  });
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
      (range) => {
        if (!chart) return;
        const x = chart.data[0];
        chart.setScale('x', {
          min: range ? range[0] : (x[0] ?? 0),
          max: range ? range[1] : (x.at(-1) ?? 1),
        });
      },
      { defer: true },
    ),
  );
  createEffect(
    on([width, () => props.height], ([w, h]) => {
      if (chart && w > 0 && (chart.width !== w || chart.height !== h)) chart.setSize({ width: w, height: h });
    }),
  );
  onCleanup(() => chart?.destroy());

  return (
    <div
      ref={place}
      class="k-chart"
      role="img"
      aria-label={props.label}
      style={{ height: `${props.height}px` }}
    />
  );
}
