import { expect, it } from 'vitest';
import { count } from '../../kit/format';
import { evidenceText } from './evidence';

it('evidence is said with its units', () => {
  expect(
    evidenceText({
      open_s: 4000,
      aborted_share: 0.125,
      samples: 12_345,
      name: 'rollout',
      all_rewards_zero: false,
      peak: null,
    }),
  ).toEqual([
    ['open', '1 h 07 m'],
    ['aborted share', '12.5 %'],
    ['samples', count(12_345)],
    ['name', 'rollout'],
    ['all rewards zero', 'no'],
    ['peak', '–'],
  ]);
});
