import { expect, it } from 'vitest';
import { stepsOf } from './steps';

it('steps are spans that end when they were logged', () => {
  const steps = stepsOf([
    { step: 0, ts: 100, step_time: 90, wait_ratio: 0.5 },
    { step: null, ts: 150, step_time: 10, wait_ratio: 0.1 },
    { step: 1, ts: 200, step_time: null, wait_ratio: null },
    { step: 2, ts: null, step_time: 1, wait_ratio: 1 },
  ]);
  expect(steps.map(({ id, t0, t1, wait }) => [id, t0, t1, wait])).toEqual([
    [0, 10, 100, 0.5],
    [1, 100, 200, null],
  ]);
});
