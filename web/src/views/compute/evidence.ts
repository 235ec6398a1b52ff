// The numbers that a rule judged by, with units out of their names.

import * as format from '../../kit/format';

function valueText(name: string, value: unknown): string {
  if (typeof value === 'number') {
    if (name.endsWith('_s')) return format.duration(value);
    if (/(_share|_frac|_ratio|_usage|_rate|_mfu)$/.test(name) && value >= 0 && value <= 1)
      return format.percent(value);
    if (/(^ts|_ts)$/.test(name)) return format.clock(value);
    return Number.isInteger(value) ? format.count(value) : format.num(value);
  }
  if (Array.isArray(value)) return value.map((each) => valueText(name, each)).join(', ');
  return format.cell(value);
}

export const evidenceText = (evidence: Readonly<Record<string, unknown>>): [string, string][] =>
  Object.entries(evidence).map(([name, value]) => [
    (typeof value === 'number' ? name.replace(/_s$/, '') : name).replaceAll('_', ' '),
    valueText(name, value),
  ]);
