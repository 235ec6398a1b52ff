import { describe, expect, it } from 'vitest';
import type { TrajectoryLane } from '../../api';
import { inFlight, orderLanes, timeSpan, versionsOf } from './anatomy';
import type { Row } from './columns';

const lane = (sample_index: number, first_ts: number, last_ts: number, version: string): TrajectoryLane => ({
  sample_index,
  group_index: 0,
  first_ts,
  last_ts,
  status: null,
  versions: [],
  attempts: [],
  segments: [{ kind: 'gen', t0: first_ts, t1: last_ts, turn: -1, weight_version: version }],
});
const lanes = [lane(1, 0, 10, '10'), lane(2, 1, 4, '9'), lane(3, 2, 12, '9')];
const rows = [
  { sample_index: 2, staleness: 4, raw_reward: null, reward: 1, turns: null },
] as unknown as Row[];
const order = (by: Parameters<typeof orderLanes>[2]): number[] =>
  orderLanes(lanes, rows, by).map((each) => each.lane.sample_index);

describe('batch anatomy', () => {
  it('orders samples, those without a value last', () => {
    expect(order('submit')).toEqual([1, 2, 3]);
    expect(order('span')).toEqual([1, 3, 2]);
    expect(order('staleness')).toEqual([2, 1, 3]);
    expect(order('reward')).toEqual([2, 1, 3]);
  });

  it('counts what is under way', () => {
    const { gen, most } = inFlight(orderLanes(lanes, rows, 'submit'), [0, 12], 12);
    expect([...gen]).toEqual([1, 2, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1]);
    expect(most).toBe(3);
  });

  it('spans from the first event to the moment training took the batch', () => {
    expect(timeSpan(lanes, 20)?.[1]).toBeGreaterThan(20);
    expect(timeSpan([], null)).toBeUndefined();
  });

  it('names versions oldest first', () => {
    expect(versionsOf(orderLanes(lanes, rows, 'submit'))).toEqual(['9', '10']);
  });
});
