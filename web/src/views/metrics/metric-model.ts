// A logged metric as a chart: the line, what earlier attempts logged, and the raw line behind a smoothed one.

import { createEffect, createMemo, createSignal, type Accessor } from 'solid-js';
import { api, createQuery, type Series } from '../../api';
import { format, type Line, type LineChartData } from '../../kit';
import { run } from '../../state/run';
import { axisName, stepOf } from './axis';
import { stepKeyOf } from './categories';
import { unitOf } from './meanings';
import type { ChartModel, HoverRow } from './model';
import { overSteps, overTime, sameSeries, smooth, stats, type Points } from './series';
import type { MetricsState } from './state';
import type { Store } from './store';

/** The raw line behind a smoothed one. */
const BEHIND = 0.4;

export function metricModel(
  key: string,
  state: MetricsState,
  store: Store,
  near: Accessor<boolean>,
): ChartModel {
  const first = store.series(key, near);
  const usual = stepKeyOf(key);
  const others = createMemo(() => (run.stepKeys() ?? []).filter((each) => each !== usual));
  // A run can log a key under a step of its own; where the usual one has no points the others are asked.
  const [tried, setTried] = createSignal(0);
  const isMissing = (): boolean => first.series()?.x.length === 0;
  const elsewhere = createQuery(() => {
    const stepKey = others()[tried()];
    return near() && isMissing() && stepKey !== undefined ? api.metrics([key], stepKey) : null;
  });
  createEffect(() => {
    const found = elsewhere.data()?.[key];
    if (found?.x.length === 0 && !elsewhere.isOld() && tried() < others().length - 1) setTried((n) => n + 1);
  });
  const series = createMemo(
    (): Series | undefined => {
      if (!isMissing()) return first.series();
      const found = elsewhere.data()?.[key];
      return found && found.x.length > 0 ? found : first.series();
    },
    undefined,
    { equals: sameSeries },
  );
  const stepKey = (): string =>
    isMissing() && (elsewhere.data()?.[key]?.x.length ?? 0) > 0 ? (others()[tried()] ?? usual) : usual;

  const hasTimes = createMemo(() => (series()?.ts.length ?? 0) > 0);
  const isTime = (): boolean => state.x() === 'time' && hasTimes();
  const points = createMemo((): Points => (isTime() ? overTime(series()) : overSteps(series())));
  const smoothed = createMemo(() =>
    state.smoothing() > 0 ? smooth(points().y, state.smoothing()) : undefined,
  );
  const data = createMemo((): LineChartData => {
    const { x, y, earlier } = points();
    const soft = smoothed();
    const lines: Line[] = [];
    if (earlier) {
      lines.push({ label: 'earlier attempt', token: 'text-3', y: earlier, width: 1, dash: [3, 3] });
    }
    if (soft) lines.push({ label: 'raw', token: 'series-1', y, width: 1, alpha: BEHIND, points: false });
    lines.push({ label: key, token: 'series-1', y: soft ?? y });
    return { x, lines };
  });
  const unit = unitOf(key);
  const withUnit = (value: number | null | undefined): string =>
    value === null || value === undefined || unit === '' ? format.num(value) : `${format.num(value)} ${unit}`;

  return {
    key,
    axis: () => (isTime() ? 'time' : stepKey()),
    data,
    isEmpty: () => series() !== undefined && points().x.length === 0,
    isThere: () => series() !== undefined,
    problem: () => first.query.error()?.message,
    note: () => {
      if (state.x() === 'time' && series() !== undefined && !hasTimes() && points().x.length > 0) {
        return `over ${axisName(stepKey())}: no times were logged`;
      }
      const { texts } = points();
      return texts > 0
        ? `${format.plural(texts, 'value')} that ${texts === 1 ? 'is' : 'are'} text`
        : undefined;
    },
    value: (index) => {
      const { y } = points();
      const line = smoothed() ?? y;
      const at = index ?? y.findLastIndex((value) => value !== null);
      return withUnit(at < 0 ? null : line[at]);
    },
    caption: (index) => {
      const { step, ts } = points();
      const at = ts[index];
      const time = typeof at === 'number' ? `  ${format.dateTime(at)}` : '';
      return `${stepKey()} ${step[index] ?? ''}${time}`;
    },
    rows: (index) => {
      const { y, earlier } = points();
      const soft = smoothed();
      const rows: HoverRow[] = [];
      if (soft)
        rows.push({ label: 'smoothed', value: withUnit(soft[index]), token: 'series-1', strong: true });
      rows.push({ label: soft ? 'raw' : 'value', value: withUnit(y[index]), strong: !soft });
      const old = earlier?.[index];
      if (typeof old === 'number') rows.push({ label: 'earlier attempt', value: withUnit(old) });
      return rows;
    },
    stepAt: (index) => {
      const { step, ts } = points();
      const at = step[index];
      return stepOf(
        { axis: stepKey(), stepKey: stepKey(), ...(at === undefined ? {} : { step: at }), ts: ts[index] },
        run.ids(),
        store.bubbles(),
      );
    },
    stats: () => [
      { label: key, ...stats(points().x, points().y, state.zoom(isTime() ? 'time' : stepKey())) },
    ],
    csv: () => {
      const { step, ts, y, earlier } = points();
      const soft = smoothed();
      return {
        columns: [
          stepKey(),
          'ts',
          key,
          ...(soft ? ['smoothed'] : []),
          ...(earlier ? ['earlier attempt'] : []),
        ],
        rows: step.map((at, i) => [
          at,
          ts[i] ?? null,
          y[i],
          ...(soft ? [soft[i]] : []),
          ...(earlier ? [earlier[i]] : []),
        ]),
      };
    },
  };
}
