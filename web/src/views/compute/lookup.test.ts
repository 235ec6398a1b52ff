import { describe, expect, it, vi } from 'vitest';
import type { Phase, Topology } from '../../api';

// Colours need a page; what is idle does not.
vi.mock('../../design/theme', () => ({ color: () => '', isDark: () => false }));
const { engineAt, lastAt, nearest, periodOf, phasesAt, topProcesses } = await import('./lookup');

const phase = (name: string, t0: number, t1: number): Phase => ({
  name,
  t0,
  t1,
  node: 'a',
  gpu: 0,
  rank: 0,
  role: 'train',
});

describe('what was where', () => {
  it('finds entries by time', () => {
    expect([0, 1, 2.5, 9].map((t) => lastAt([1, 2, 3], t))).toEqual([-1, 0, 1, 2]);
    expect(nearest([1, 2, 3], 2.4)).toBe(1);
    expect(nearest([1, 2, 3], 2.6)).toBe(2);
    expect(nearest([1, 2, 3], 9, 2)).toBe(-1);
    expect(nearest([], 9)).toBe(-1);
  });

  it('names what is active before what is idle', () => {
    const phases = [phase('train_wait', 0, 10), phase('rollout', 1, 9), phase('sleep', 9, 12)];
    expect(phasesAt(phases, 5).map((each) => each.name)).toEqual(['rollout', 'train_wait']);
    expect(phasesAt(phases, 12)).toEqual([]);
  });

  it('knows the engine of a GPU in each window', () => {
    const engine = (addr: string) => ({
      addr,
      worker_type: null,
      engine_rank: null,
      gpus: [['a', 0]] as [string, number][],
      gpu_uuids: null,
    });
    const topology: Topology = {
      lanes: [],
      windows: [
        { t0: 0, t1: 10, engines: [engine('one')] },
        { t0: 10, t1: null, engines: [engine('two')] },
      ],
    };
    expect([-5, 5, 50].map((t) => engineAt(topology, 'a', 0, t)?.addr)).toEqual(['one', 'one', 'two']);
    expect(engineAt(topology, 'b', 0, 5)).toBeUndefined();
  });

  it('takes the newest look at the processes, the largest first', () => {
    const at = (ts: number, pid: number, mem_mb: number | null) => ({
      ts,
      pid,
      mem_mb,
      name: null,
      node: 'a',
      gpu: 0,
    });
    const seen = [at(1, 1, 5), at(2, 1, 5), at(2, 2, 9), at(2, 3, null), at(3, 4, 1)];
    expect(topProcesses(seen, 2.5).map((each) => each.pid)).toEqual([2, 1, 3]);
    expect(topProcesses(seen, 0)).toEqual([]);
  });

  it('measures how often readings come', () => {
    expect(periodOf([0, 1, 2, 3.1, 60])).toBe(1.1);
    expect(periodOf([1])).toBeUndefined();
  });
});
