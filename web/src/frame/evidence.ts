// The numbers a finding rests on, with units taken from their names. Pure.

import { cell, dateTime, duration, memory, num, percent } from '../kit/format';

export interface EvidenceRow {
  /** As the API has it. */
  readonly key: string;
  readonly name: string;
  readonly value: string;
}

/** More than these of a list are counted. */
const MOST_ITEMS = 12;

type Format = (value: number) => string;

const BY_SUFFIX: readonly (readonly [RegExp, Format, cut: boolean])[] = [
  [/_(?:share|frac|fraction|ratio)$/, (v) => percent(v), false],
  [/_s$/, duration, true],
  [/_ts$/, dateTime, true],
  [/_(?:mb|mib)$/, memory, true],
  [/_w$/, (v) => `${num(v)} W`, true],
];

function valueText(value: unknown, format: Format): string {
  if (typeof value === 'number') return format(value);
  if (Array.isArray(value)) {
    const shown = value.slice(0, MOST_ITEMS).map((each) => valueText(each, format));
    const more = value.length - shown.length;
    return shown.join(', ') + (more > 0 ? ` and ${more} more` : '');
  }
  return cell(value);
}

export function evidenceRows(
  evidence: Readonly<Record<string, unknown>> | undefined,
): readonly EvidenceRow[] {
  return Object.entries(evidence ?? {}).map(([key, value]) => {
    const rule = BY_SUFFIX.find(([suffix]) => suffix.test(key));
    const name = (rule?.[2] === true ? key.replace(rule[0], '') : key).replaceAll('_', ' ');
    return { key, name, value: valueText(value, rule?.[1] ?? ((v) => num(v))) };
  });
}
