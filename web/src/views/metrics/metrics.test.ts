import { describe, expect, it } from 'vitest';
import { stepOf, zoomParam } from './axis';
import { categoryOf } from '../../state/metric-key';
import { categories, makeFilter, stepKeyOf } from './categories';
import { align, meanLine, moreIsWorse, outline, shortAddress, worst } from './engines';
import { meaningOf, unitOf } from './meanings';
import { overSteps, overTime, sameSeries, smooth, stats } from './series';

describe('categories', () => {
  it('come from prefixes, the known ones first, engines last', () => {
    const keys = [
      'train/loss',
      'passrate/pass@1',
      'rollout/a10',
      'rollout/a9',
      'eval/x',
      'perf/t',
      'bare',
      'zeta/q',
    ];
    const found = categories(keys, ['sglang_token_usage']);
    expect(found.map((c) => c.name)).toEqual([
      'rollout',
      'perf',
      'train',
      'eval',
      'passrate',
      'zeta',
      'other',
      'sglang',
    ]);
    expect(found[0]?.keys).toEqual(['rollout/a9', 'rollout/a10']);
    expect(categoryOf('bare')).toBe('other');
    expect(categories(['dump/reward_mean'], []).map((c) => c.name)).toEqual(['dump']);
  });

  it('have the axis that their metrics are logged over', () => {
    expect(['train/loss', 'eval/x', 'perf/t', 'dump/x', 'bare'].map(stepKeyOf)).toEqual([
      'train/step',
      'eval/step',
      'rollout/step',
      'rollout/step',
      'rollout/step',
    ]);
    expect(zoomParam('train/step')).toBe('z_train');
  });
});

describe('filter', () => {
  it('takes words in any order or a regular expression', () => {
    expect(['train/pg_loss', 'train/kl'].filter(makeFilter('LOSS pg').test)).toEqual(['train/pg_loss']);
    expect(['train/pg_loss', 'train/kl'].filter(makeFilter('/kl$|^x/').test)).toEqual(['train/kl']);
    expect(['A', 'b'].filter(makeFilter('/a/i').test)).toEqual(['A']);
    expect(makeFilter('').test('x')).toBe(true);
  });

  it('says why an expression is none and hides nothing', () => {
    const broken = makeFilter('/(/');
    expect(broken.error).toMatch(/regular expression/i);
    expect(broken.test('x')).toBe(true);
  });

  it('answers the same each time, whatever flags it was given', () => {
    const { test } = makeFilter('/a/g');
    expect([test('a'), test('a')]).toEqual([true, true]);
  });
});

describe('series', () => {
  const series = {
    x: [0, 1, 2, 3, 2, 3, 4],
    y: [1, 2, 3, null, 30, true, 'text'],
    ts: [10, 20, 30, 40, 110, 120, 130],
  };

  it('of a restarted run show the newest attempt, the one before behind it', () => {
    const points = overSteps(series);
    expect(points.x).toEqual([0, 1, 2, 3, 4]);
    expect(points.y).toEqual([1, 2, 30, 1, null]);
    expect(points.earlier).toEqual([null, null, 3, null, null]);
    expect(points.ts).toEqual([10, 20, 110, 120, 130]);
    expect(points.texts).toBe(1);
    expect(overSteps({ x: [0, 1], y: [1, 2], ts: [] }).earlier).toBeNull();
  });

  it('over time show every attempt, and nothing without a time', () => {
    const points = overTime({ ...series, ts: [10, 20, 30, 40, null, 35, 130] });
    expect(points.x).toEqual([10, 20, 30, 35, 40, 130]);
    expect(points.step).toEqual([0, 1, 2, 3, 3, 4]);
    expect(overTime({ x: [0], y: [1], ts: [] }).x).toEqual([]);
  });

  it('are smoothed without a pull to 0, and gaps stay gaps', () => {
    expect(smooth([4, 4, null, 4], 0.9).map((v) => v && Math.round(v))).toEqual([4, 4, null, 4]);
    const two = smooth([0, 1], 0.5);
    expect(two[1]).toBeCloseTo(2 / 3);
    expect(smooth([1, 2], 0)).toEqual([1, 2]);
  });

  it('are the same until a point is other', () => {
    expect(sameSeries(series, structuredClone(series))).toBe(true);
    expect(sameSeries(series, { ...series, y: [...series.y.slice(0, -1), 5] })).toBe(false);
    expect(sameSeries(series, { ...series, x: series.x.slice(1) })).toBe(false);
    expect(sameSeries(undefined, series)).toBe(false);
  });

  it('are summed up inside of the zoom', () => {
    expect(stats([0, 1, 2], [5, null, 7], undefined)).toEqual({ n: 2, last: 7, min: 5, max: 7, mean: 6 });
    expect(stats([0, 1, 2], [5, null, 7], [0, 1])).toMatchObject({ n: 1, last: 5 });
    expect(stats([], [], undefined).mean).toBeNull();
  });
});

describe('engines', () => {
  const line = (
    addr: string,
    ts: number[],
    value: (number | null)[],
    labels: Record<string, string> = {},
  ) => ({
    addr,
    labels,
    ts,
    value,
  });

  it('that share their times keep them, with a gap where all were silent', () => {
    const aligned = align(
      [
        line('http://a:1', [0, 2, 4, 20, 22], [1, 2, 3, 4, 5]),
        line('http://b:1/', [0, 2, 20, 22], [1, 1, 1, 1]),
      ],
      100,
    );
    expect(aligned.x).toEqual([0, 2, 4, 12, 20, 22]);
    expect(aligned.lines[0]?.y).toEqual([1, 2, 3, null, 4, 5]);
    expect(aligned.lines[1]?.y).toEqual([1, 1, null, null, 1, 1]);
    expect(aligned.lines[1]?.name).toBe('b:1');
  });

  it('with times of their own are put into parts of the window', () => {
    const lines = Array.from({ length: 20 }, (_, e) =>
      line(
        `http://h:${e}`,
        Array.from({ length: 50 }, (_, i) => i * 2 + e / 50),
        Array.from({ length: 50 }, () => e),
      ),
    );
    const aligned = align(lines, 10);
    expect(aligned.x.length).toBeLessThanOrEqual(11);
    expect(aligned.lines[7]?.y.every((v) => v === 7)).toBe(true);
    expect(meanLine(aligned)[0]).toBeCloseTo(9.5);
  });

  it('name their ranks', () => {
    expect(align([line('http://a:1', [0], [1], { dp_rank: '3', engine_type: 'x' })], 9).lines[0]?.name).toBe(
      'a:1 dp 3',
    );
    expect(shortAddress('https://[::1]:30000/')).toBe('[::1]:30000');
  });

  it('are worst by what the metric means', () => {
    const aligned = align(
      [line('a', [0, 1], [1, null]), line('b', [0, 1], [5, 5]), line('c', [0], [null])],
      9,
    );
    expect(worst(aligned, 'sglang_gen_throughput')).toBe(0);
    expect(worst(aligned, 'sglang_num_queue_reqs')).toBe(1);
    expect(worst({ x: [], lines: [] }, 'x')).toBeUndefined();
    expect(moreIsWorse('sglang_ttft_mean_s')).toBe(true);
    expect(outline(aligned)).toEqual({ low: [1, 5], high: [5, 5] });
    expect(meanLine(aligned)).toEqual([3, 5]);
  });
});

describe('a point', () => {
  const ids = { train: [0, 1, 2], eval: [0] };
  const bubbles = [0, 1, 2].map((step) => ({ step, ts: 100 * (step + 1), step_time: 100, wait_ratio: 0.5 }));

  it('belongs to a step by its id, or by the time at which the step was logged', () => {
    const of = (axis: string, stepKey: string | undefined, step: number, ts: number | null) =>
      stepOf({ axis, ...(stepKey === undefined ? {} : { stepKey }), step, ts }, ids, bubbles);
    expect(of('rollout/step', 'rollout/step', 1, null)).toEqual({
      step: { id: 1, evaluation: false },
      isThere: true,
    });
    expect(of('rollout/step', 'rollout/step', 9, null)?.isThere).toBe(false);
    expect(of('eval/step', 'eval/step', 0, 5)?.step).toEqual({ id: 0, evaluation: true });
    expect(of('train/step', 'train/step', 40, 150)?.step.id).toBe(1);
    expect(of('time', undefined, 0, 10)?.step.id).toBe(0);
    expect(of('time', undefined, 0, 999)).toBeUndefined();
    expect(of('train/step', 'train/step', 40, null)).toBeUndefined();
  });
});

describe('meanings', () => {
  it('are there for what the field logs and never guessed for the rest', () => {
    expect(meaningOf('train/grad_norm')).toMatch(/gradient/);
    expect(meaningOf('train/lr-pg_0')).toBe('learning rate of parameter group pg_0');
    expect(meaningOf('eval/aime-truncated_ratio')).toMatch(/aime/);
    expect(meaningOf('mine/own')).toBeUndefined();
    expect(
      ['perf/step_time', 'sglang_requests_per_s', 'sglang_ttft_mean_s', 'train/loss'].map(unitOf),
    ).toEqual(['s', 'req/s', 's', '']);
  });
});
