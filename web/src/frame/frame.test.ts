import { describe, expect, it } from 'vitest';
import { evidenceRows } from './evidence';
import { freshness } from './freshness';
import { findAll, type Place } from './places';
import { around, nearest, neighbour } from './steps';

describe('freshness', () => {
  it('is judged from the data, so that a dead collector reads as stale', () => {
    const at = (age: number, timeline = true): string => freshness(true, 1000, 1000 + age, timeline).tone;
    expect([4, 59, 61, 700].map((age) => at(age))).toEqual(['good', 'good', 'warning', 'critical']);
    expect(freshness(true, 1000, 1004, true).text).toMatch(/^data to \d\d:\d\d:\d\d, 4 s ago$/);
    expect(freshness(true, 1000, 1300, true).text).toMatch(/^stale: .*5 m 00 s ago$/);
  });

  it('waits longer where only steps are logged, and never for a run that is over', () => {
    expect(freshness(true, 1000, 2800, false).tone).toBe('good');
    expect(freshness(false, 1000, 1e9, true).tone).toBe('neutral');
    expect(freshness(true, null, 1e9, true).text).toBe('no telemetry yet');
  });

  it('is not upset by a clock that is behind', () => {
    expect(freshness(true, 1000, 990, true).text).toContain('0 s ago');
  });
});

describe('steps', () => {
  const ids = { train: [0, 1, 4, 9], eval: [4] };
  const train = (id: number) => ({ id, evaluation: false });

  it('have neighbours also where dumps are missing', () => {
    expect(neighbour(ids, train(1), 1)).toEqual(train(4));
    expect(neighbour(ids, train(2), 1)).toEqual(train(4));
    expect(neighbour(ids, train(2), -1)).toEqual(train(1));
    expect(neighbour(ids, train(9), 1)).toBeUndefined();
    expect(neighbour(ids, { id: 4, evaluation: true }, -1)).toBeUndefined();
  });

  it('are found by the nearest id', () => {
    expect(nearest(ids, 6, false)).toEqual(train(4));
    expect(nearest(ids, 99, false)).toEqual(train(9));
    expect(nearest(ids, 0, true)).toEqual({ id: 4, evaluation: true });
    expect(nearest({ train: [], eval: [] }, 0, false)).toBeUndefined();
  });

  it('are listed around one, newest first', () => {
    const list = Array.from({ length: 1000 }, (_, i) => i);
    expect(around(list, undefined, 3)).toEqual([999, 998, 997]);
    expect(around(list, 500, 4)).toEqual([501, 500, 499, 498]);
    expect(around(list, 0, 3)).toEqual([2, 1, 0]);
  });
});

describe('evidence', () => {
  it('has units from the names of its numbers', () => {
    const rows = evidenceRows({
      zero_std_share: 0.5625,
      age_s: 7500,
      rollout_max_response_len: 600,
      all_rewards_zero: false,
      engines: ['a', 'b'],
      opened_ts: 1767267900,
      mean: null,
    });
    expect(rows.map(({ name, value }) => `${name}: ${value}`)).toEqual([
      'zero std share: 56.3 %',
      'age: 2 h 05 m',
      'rollout max response len: 600',
      'all rewards zero: no',
      'engines: a, b',
      expect.stringMatching(/^opened: \d{4}-\d\d-\d\d/),
      'mean: –',
    ]);
  });
});

describe('search', () => {
  const place = (title: string, kind = 'metric'): Place => ({ title, kind, href: '#' });
  const places = [
    place('train/loss'),
    place('train/pg_loss'),
    place('perf/step_time'),
    place('rollout/raw_reward'),
  ];

  it('finds all words in any order, beginnings of words first', () => {
    expect(findAll('loss', places, 10).map((p) => p.title)).toEqual(['train/loss', 'train/pg_loss']);
    expect(findAll('LOSS pg', places, 10).map((p) => p.title)).toEqual(['train/pg_loss']);
    expect(findAll('step', places, 10)[0]?.title).toBe('perf/step_time');
    expect(findAll('nothing', places, 10)).toEqual([]);
    expect(findAll('', places, 2)).toHaveLength(2);
  });
});
