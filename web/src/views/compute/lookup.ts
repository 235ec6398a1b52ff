// What was where at a time: phases, readings, engines. All lists are sorted by time.

import type { Engine, GpuProcess, Phase, Topology } from '../../api';
import { phaseStyle } from '../../design/phases';

/** Position of the last entry at or before `t`; -1 where there is none. */
export function lastAt(ts: readonly number[], t: number): number {
  let low = 0;
  let high = ts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ts[middle] ?? Infinity) <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Position of the entry nearest to `t` and at most `within` away; -1 where there is none. */
export function nearest(ts: readonly number[], t: number, within = Infinity): number {
  const before = lastAt(ts, t);
  const left = t - (ts[before] ?? -Infinity);
  const right = (ts[before + 1] ?? Infinity) - t;
  if (Math.min(left, right) > within) return -1;
  return left <= right ? before : before + 1;
}

/** The phases of one lane at a time, active ones before idle ones, later ones first. */
export function phasesAt(phases: readonly Phase[], t: number): Phase[] {
  return phases
    .filter((phase) => phase.t0 <= t && t < phase.t1)
    .sort((a, b) => Number(phaseStyle(a.name).isIdle) - Number(phaseStyle(b.name).isIdle) || b.t0 - a.t0);
}

export const laneKey = (node: string, gpu: number): string => `${node}:${gpu}`;

type TopologyWindow = Topology['windows'][number];

/** The engines that served at a time: those of the snapshot before it, or of the first one. */
export function windowAt(topology: Topology, t: number): TopologyWindow | undefined {
  const at = lastAt(
    topology.windows.map((window) => window.t0),
    t,
  );
  return topology.windows[Math.max(0, at)];
}

/** The engine on a GPU at a time. */
export function engineAt(topology: Topology, node: string, gpu: number, t: number): Engine | undefined {
  return windowAt(topology, t)?.engines.find((engine) =>
    engine.gpus.some((place) => place[0] === node && place[1] === gpu),
  );
}

/** Each process of a GPU as it was last seen at or before `t`, the largest first. */
export function topProcesses(processes: readonly GpuProcess[], t: number, most = 4): GpuProcess[] {
  let seen = -Infinity;
  for (const each of processes) if (each.ts <= t + 0.001) seen = Math.max(seen, each.ts);
  return processes
    .filter((each) => each.ts === seen)
    .sort((a, b) => (b.mem_mb ?? -1) - (a.mem_mb ?? -1))
    .slice(0, most);
}

/** Seconds between readings, as the middle of the differences; undefined of fewer than two. */
export function periodOf(ts: readonly number[]): number | undefined {
  const steps: number[] = [];
  for (let at = 1; at < Math.min(ts.length, 200); at += 1) steps.push((ts[at] ?? 0) - (ts[at - 1] ?? 0));
  steps.sort((a, b) => a - b);
  return steps[steps.length >> 1];
}
