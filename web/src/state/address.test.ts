import { describe, expect, it } from 'vitest';
import { formatAddress, parseAddress, type Address } from './address';

describe('addresses', () => {
  it('survive a round trip, whatever is in them', () => {
    const addresses: Address[] = [
      { route: { view: 'metrics' }, params: { c: 'train', q: '/loss|kl/i&x=1 #+%é' } },
      { route: { view: 'compute' }, params: { lanes: 'g:0-7,node:a b', t: '1767267900.5,1767269699' } },
      { route: { view: 'rollouts' }, params: {} },
      {
        route: { view: 'rollouts', step: { id: 7, evaluation: true } },
        params: { sort: '-reward,sample_index' },
      },
      {
        route: { view: 'sample', step: { id: -3, evaluation: false }, index: 897 },
        params: { tab: 'tokens' },
      },
    ];
    for (const address of addresses) expect(parseAddress(formatAddress(address))).toEqual(address);
  });

  it('stay readable', () => {
    const address: Address = {
      route: { view: 'compute' },
      params: { lanes: 'g:0-7,rank:3', m: 'rollout/raw_reward' },
    };
    expect(formatAddress(address)).toBe('#/compute?lanes=g:0-7,rank:3&m=rollout/raw_reward');
  });

  it('that mean nothing lead to a place that exists', () => {
    expect(parseAddress('').route).toEqual({ view: 'metrics' });
    expect(parseAddress('#/nonsense/1').route).toEqual({ view: 'metrics' });
    expect(parseAddress('#/rollouts/x').route).toEqual({ view: 'rollouts' });
    expect(parseAddress('#/sample/1').route).toEqual({ view: 'rollouts' });
    expect(parseAddress('#/sample/1/2e3').route).toEqual({ view: 'rollouts' });
  });
});
