// A scraped metric as a chart: a line an engine, or with many of them the mean and the worst before faint lines.

import { createEffect, createMemo, untrack, type Accessor } from 'solid-js';
import { api, createQuery } from '../../api';
import { seriesToken } from '../../design/phases';
import { format, type Line, type LineChartData } from '../../kit';
import { run } from '../../state/run';
import { stepOf } from './axis';
import {
  align,
  MANY_ENGINES,
  meanLine,
  moreIsWorse,
  MOST_LINES,
  outline,
  shortAddress,
  worst,
  type Aligned,
  type AlignedLine,
} from './engines';
import { unitOf } from './meanings';
import type { ChartModel, HoverRow } from './model';
import { stats } from './series';
import type { MetricsState } from './state';
import type { Store } from './store';

/** Points of a line: more than a card has pixels. */
const POINTS = 600;
/** Data is asked for beyond a zoom by this part of it, so that a small pan has some. */
const MARGIN = 0.25;
const DASHES: readonly (readonly number[])[] = [[], [5, 3], [2, 2], [8, 3, 2, 3]];

const EMPTY: Aligned = { x: [], lines: [] };

/** The part of the run to ask for: none for all of it, and where the server would refuse. */
export function windowFor(
  zoom: readonly [number, number] | undefined,
  most: number,
): { readonly t0: number; readonly t1: number } | undefined {
  if (!zoom) return undefined;
  const extra = (zoom[1] - zoom[0]) * MARGIN;
  const [t0, t1] = [Math.floor(zoom[0] - extra), Math.ceil(zoom[1] + extra)];
  return t1 - t0 > most ? undefined : { t0, t1 };
}

export function engineModel(
  metric: string,
  state: MetricsState,
  store: Store,
  near: Accessor<boolean>,
): ChartModel {
  const query = createQuery(
    () =>
      near()
        ? api.engineSeries(metric, {
            ...windowFor(state.zoom('time'), run.capabilities()?.max_window_s ?? 0),
            max_points: POINTS,
            per_dp_rank: state.perRank(),
          })
        : null,
    { keep: true },
  );
  createEffect(() => {
    const answer = query.data();
    if (answer) untrack(() => store.addEngines(answer.series.map((line) => line.addr)));
  });
  const all = createMemo(() => {
    const answer = query.data();
    return answer ? align(answer.series, POINTS) : EMPTY;
  });
  const shown = createMemo((): Aligned => {
    const off = new Set(state.off());
    if (off.size === 0) return all();
    return { x: all().x, lines: all().lines.filter((line) => !off.has(shortAddress(line.addr))) };
  });
  const engines = createMemo(() => new Set(shown().lines.map((line) => line.addr)).size);
  const isMany = (): boolean => engines() > MANY_ENGINES;
  const average = createMemo(() => (isMany() ? meanLine(shown()) : undefined));
  const worstAt = createMemo(() => (isMany() ? worst(shown(), metric) : undefined));
  const worstLine = (): AlignedLine | undefined => {
    const at = worstAt();
    return at === undefined ? undefined : shown().lines[at];
  };
  const tokenOf = (line: AlignedLine): string =>
    seriesToken(Math.max(0, store.engines().indexOf(shortAddress(line.addr))));

  const data = createMemo((): LineChartData => {
    const { x, lines } = shown();
    const mean = average();
    if (!mean) {
      return {
        x,
        lines: lines.map((line): Line => {
          const dash = DASHES[Number(line.rank ?? 0) % DASHES.length] ?? [];
          return { label: line.name, token: tokenOf(line), y: line.y, width: 1.25, dash, points: false };
        }),
      };
    }
    const bad = worstLine();
    const faint = (label: string, y: readonly (number | null)[]): Line => ({
      label,
      token: 'text-3',
      y,
      width: 1,
      alpha: 0.28,
      points: false,
    });
    const edge = lines.length > MOST_LINES ? outline(shown()) : undefined;
    return {
      x,
      lines: [
        ...(edge
          ? [faint('lowest', edge.low), faint('highest', edge.high)]
          : lines.filter((line) => line !== bad).map((line) => faint(line.name, line.y))),
        ...(bad ? [{ label: 'worst', token: 'series-2', y: bad.y, width: 1.5, points: false }] : []),
        { label: 'mean', token: 'series-1', y: mean, width: 2, points: false },
      ],
    };
  });
  const unit = unitOf(metric);
  const withUnit = (value: number | null | undefined): string =>
    value === null || value === undefined || unit === '' ? format.num(value) : `${format.num(value)} ${unit}`;
  const at = (line: AlignedLine, index: number): number | null => line.y[index] ?? null;

  return {
    key: metric,
    axis: () => 'time',
    data,
    isEmpty: () => query.data() !== undefined && shown().lines.length === 0,
    isThere: () => query.data() !== undefined,
    problem: () => query.error()?.message,
    note: () => {
      const bad = worstLine();
      if (!bad) return undefined;
      return `${engines()} engines; worst ${bad.name} (${moreIsWorse(metric) ? 'highest' : 'lowest'} mean)`;
    },
    value: (index) => {
      const { x, lines } = shown();
      const values = average() ?? (lines.length === 1 ? lines[0]?.y : undefined) ?? meanLine({ x, lines });
      const place = index ?? values.findLastIndex((value) => value !== null);
      const text = withUnit(place < 0 ? null : values[place]);
      return lines.length > 1 ? `mean ${text}` : text;
    },
    caption: (index) => format.dateTime(shown().x[index]),
    rows: (index) => {
      const { lines } = shown();
      const mean = average();
      if (!mean) {
        return lines
          .map((line) => ({ line, value: at(line, index) }))
          .sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity))
          .slice(0, 16)
          .map(({ line, value }): HoverRow => ({
            label: line.name,
            value: withUnit(value),
            token: tokenOf(line),
          }));
      }
      const bad = worstLine();
      const there = lines.filter((line) => at(line, index) !== null);
      const by = there.toSorted((a, b) => (at(a, index) ?? 0) - (at(b, index) ?? 0));
      const [low, high] = [by[0], by.at(-1)];
      const rows: HoverRow[] = [
        { label: 'mean', value: withUnit(mean[index]), token: 'series-1', strong: true },
      ];
      if (bad) rows.push({ label: `worst ${bad.name}`, value: withUnit(at(bad, index)), token: 'series-2' });
      if (high) rows.push({ label: `highest ${high.name}`, value: withUnit(at(high, index)) });
      if (low) rows.push({ label: `lowest ${low.name}`, value: withUnit(at(low, index)) });
      rows.push({ label: 'engines that reported', value: String(there.length) });
      return rows;
    },
    stepAt: (index) => stepOf({ axis: 'time', ts: shown().x[index] }, run.ids(), store.bubbles()),
    stats: () => {
      const range = state.zoom('time');
      const { x, lines } = shown();
      const mean = average();
      const bad = worstLine();
      if (!mean) return lines.map((line) => ({ label: line.name, ...stats(x, line.y, range) }));
      return [
        { label: 'mean', ...stats(x, mean, range) },
        ...(bad ? [{ label: `worst ${bad.name}`, ...stats(x, bad.y, range) }] : []),
      ];
    },
    csv: () => {
      const { x, lines } = shown();
      return {
        columns: ['ts', ...lines.map((line) => line.name)],
        rows: x.map((ts, i) => [ts, ...lines.map((line) => line.y[i])]),
      };
    },
  };
}
