// How old the newest data is, in words. Judged from the data: a server that follows a run whose collector is dead still
// answers, and only the data says so. Pure.

import { clock, dateTime, duration } from '../kit/format';

export interface Freshness {
  readonly text: string;
  readonly tone: 'neutral' | 'good' | 'warning' | 'critical';
  readonly tip: string;
}

/** GPUs are sampled each second and written every five: a minute without a line is no delay any more. */
const STALE_S = 60;
/** Without GPU samples lines come once a step, and steps can take half an hour. */
const STALE_WITHOUT_TELEMETRY_S = 3600;
const DEAD_FACTOR = 10;

export function freshness(
  live: boolean,
  newest: number | null | undefined,
  now: number,
  hasTimeline: boolean,
): Freshness {
  if (newest === null || newest === undefined) {
    return {
      text: live ? 'no telemetry yet' : 'no telemetry',
      tone: 'neutral',
      tip: 'No stream has a time. Telemetry is recorded with --use-miles-dashboard.',
    };
  }
  if (!live) {
    return {
      text: `data to ${dateTime(newest)}`,
      tone: 'neutral',
      tip: 'Newest time in the data. The server was started without --follow: it does not look for more.',
    };
  }
  const age = Math.max(0, now - newest);
  const limit = hasTimeline ? STALE_S : STALE_WITHOUT_TELEMETRY_S;
  const at = age > 86_400 ? dateTime(newest) : clock(newest);
  if (age <= limit) {
    return {
      text: `data to ${at}, ${duration(Math.round(age))} ago`,
      tone: 'good',
      tip: `Newest time in the data: ${dateTime(newest)}.`,
    };
  }
  return {
    text: `stale: data to ${at}, ${duration(age)} ago`,
    tone: age > limit * DEAD_FACTOR ? 'critical' : 'warning',
    tip:
      `Newest time in the data: ${dateTime(newest)}. Nothing was written since: the job has ended or hangs, ` +
      'its collector is dead, or the disk is full.',
  };
}
