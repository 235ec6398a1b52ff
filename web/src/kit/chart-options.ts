// How a LineChart looks, as uPlot wants it told: scales, axes, lines. Nothing here is kept.

import type uPlot from 'uplot';
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

export type Range = readonly [number, number];

export interface Look {
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
  readonly time: boolean;
  readonly log: boolean;
  readonly group: string | undefined;
  readonly fontFamily: string;
  /** Colours of tokens.css by name. */
  readonly color: (token: string) => string;
  readonly yRange: readonly [number | null, number | null];
  readonly formatY: (value: number) => string;
  /** The part of x that is shown; asked each time that it is painted. */
  readonly range: () => Range | undefined;
}

/** uPlot's scale distributions: its types have them as an enum that exists only there. */
/* eslint-disable @typescript-eslint/no-unsafe-enum-assignment -- see above */
const LINEAR = 1 as uPlot.Scale.Distr;
const LOG = 3 as uPlot.Scale.Distr;
/* eslint-enable */

/** Room between points from which on each is marked, CSS pixels. */
const MARK_FROM = 14;

export const fade = (rgb: string, alpha: number): string =>
  rgb.replace(
    /^rgba?\(([^)]+)\)$/,
    (_, parts: string) => `rgba(${parts.split(',').slice(0, 3).join(',')}, ${alpha})`,
  );

/** What can change only with a new chart. */
export const shapeOf = (
  look: Omit<Look, 'width' | 'height' | 'fontFamily' | 'color' | 'formatY' | 'range'>,
): string =>
  JSON.stringify([
    look.lines.map(({ label, token, width, alpha, dash, points }) => [
      label,
      token,
      width,
      alpha,
      dash,
      points,
    ]),
    look.time,
    look.log,
    look.group,
    look.yRange,
  ]);

/** The x axis without a zoom: the data, and a little room around a single point. */
export function xExtent(min: number | undefined, max: number | undefined): [number, number] {
  if (min === undefined || max === undefined) return [0, 1];
  return min === max ? [min - 0.5, max + 0.5] : [min, max];
}

/** The y axis: the data with some room, at least `always`; decades of a log axis. */
export function yExtent(
  min: number | null,
  max: number | null,
  log: boolean,
  always: readonly [number | null, number | null],
): [number, number] {
  if (min === null || max === null) return log ? [0.1, 10] : [always[0] ?? 0, always[1] ?? 1];
  if (log) {
    const [low, high] = [Math.floor(Math.log10(min)), Math.ceil(Math.log10(max))];
    return [10 ** low, 10 ** (high > low ? high : low + 1)];
  }
  // A smoothed constant differs in its last digits.
  const isFlat = max - min <= 1e-9 * Math.max(Math.abs(min), Math.abs(max));
  const pad = isFlat ? Math.abs(min) * 0.1 || 1 : (max - min) * 0.06;
  const [least, most] = always;
  return [
    least !== null && min >= least ? least : min - pad,
    most !== null && max <= most ? Math.max(most, max) : max + pad,
  ];
}

/** Labels of a time axis, as fine as its steps. */
export function timeLabel(value: number, splits: readonly number[]): string {
  const step = (splits[1] ?? value) - (splits[0] ?? value);
  if (step >= 86_400) return dateTime(value).slice(5, 10);
  return step >= 60 ? clock(value).slice(0, 5) : clock(value);
}

export function chartOptions(look: Look): uPlot.Options {
  const axis = look.color('axis');
  const grid = { stroke: look.color('grid'), width: 1 };
  const font = `11px ${look.fontFamily}`;
  return {
    width: look.width,
    height: look.height,
    ms: 1e-3,
    legend: { show: false },
    padding: [8, 12, 0, 0],
    cursor: {
      ...(look.group === undefined
        ? {}
        : { sync: { key: look.group, setSeries: false, scales: ['x', null] } }),
      // It would swallow clicks, for the cursor jumps to a point; whoever listens knows a drag by its length.
      drag: { x: true, y: false, setScale: false, dist: 5, click: () => undefined },
      // Lines that stand behind have no mark where the cursor is.
      points: {
        size: (_, index) => (look.lines[index - 1]?.alpha === undefined ? 7 : 0),
        width: (_, index) => (look.lines[index - 1]?.alpha === undefined ? 1.5 : 0),
      },
      // On the point, not beside it: what is said is of the point.
      move: (u, left, top) => [left < 0 ? left : u.valToPos(u.data[0][u.posToIdx(left)] ?? 0, 'x'), top],
      y: false,
    },
    scales: {
      x: {
        time: look.time,
        range: (u) => {
          const shown = look.range();
          // Not what uPlot proposes: it starts a single point at 0.
          return shown ? [shown[0], shown[1]] : xExtent(u.data[0][0], u.data[0].at(-1));
        },
      },
      y: {
        distr: look.log ? LOG : LINEAR,
        range: (_, min, max) => yExtent(min, max, look.log, look.yRange),
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
        space: 64,
        ...(look.time ? {} : { incrs: STEP_INCREMENTS }),
        values: (_, splits) => splits.map((v) => (look.time ? timeLabel(v, splits) : short(v))),
      },
      {
        stroke: axis,
        grid,
        ticks: { show: false },
        font,
        size: 50,
        gap: 4,
        space: 30,
        values: (_, splits) => splits.map((v) => ((v as number | null) === null ? '' : look.formatY(v))),
      },
    ],
    series: [{}, ...look.lines.map((line) => lineOptions(line, look.color(line.token)))],
  };
}

/** Steps are whole. */
const STEP_INCREMENTS = [1, 2, 5]
  .flatMap((n) => [0, 1, 2, 3, 4, 5, 6, 7].map((e) => n * 10 ** e))
  .sort((a, b) => a - b);

function lineOptions(line: Line, stroke: string): uPlot.Series {
  const marks = line.points;
  return {
    label: line.label,
    stroke: line.alpha === undefined ? stroke : fade(stroke, line.alpha),
    width: line.width ?? 1.5,
    ...(line.dash ? { dash: [...line.dash] } : {}),
    spanGaps: false,
    points: {
      size: 5,
      show: marks ?? ((u, _, from, to) => (to - from) * MARK_FROM < u.bbox.width / devicePixelRatio),
    },
  };
}
