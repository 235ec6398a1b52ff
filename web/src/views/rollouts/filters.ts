// Filters of the table: one short expression a column, as people type them and as the address holds them. Pure.
//
//   0.5..1  ..3  7..     a range, ends included        >0.5 >=1 <2 <=0 =1 !=1   a comparison
//   trunc  !completed    text that is in it, or not    =completed               exactly this text
//   yes  no              booleans                      none  any                missing, or not missing

import { columnSpec, isNumeric, type Kind, type Row } from './columns';

export type Filters = Readonly<Record<string, string>>;

export type Test = (value: unknown) => boolean;

const plainText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);

export type Parsed = { readonly test: Test } | { readonly problem: string };

const NUMBER = String.raw`[-−+]?(?:\d+\.?\d*|\.\d+)(?:e[-−+]?\d+)?`;
const RANGE = new RegExp(`^(${NUMBER})?\\s*\\.\\.\\s*(${NUMBER})?$`, 'i');
const COMPARISON = new RegExp(`^(>=|<=|!=|>|<|=)\\s*(${NUMBER})$`, 'i');
const PLAIN = new RegExp(`^${NUMBER}$`, 'i');

const toNumber = (text: string): number => Number(text.replaceAll('−', '-'));
const isMissing: Test = (value) => value === null || value === undefined;

const COMPARE: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

/** Numbers, and text that is one (weight versions are). */
const numeric = (value: unknown): number =>
  typeof value === 'number' ? value : typeof value === 'string' && PLAIN.test(value) ? Number(value) : NaN;

/** Reads an expression for a column of that kind; undefined for an empty one. */
export function parseFilter(expression: string, kind: Kind): Parsed | undefined {
  const text = expression.trim();
  if (text === '') return undefined;
  const word = text.toLowerCase();
  if (word === 'none' || word === '–') return { test: isMissing };
  if (word === 'any') return { test: (value) => !isMissing(value) };
  if (kind === 'boolean') {
    if (/^(?:=?\s*)(?:yes|y|true|1)$/.test(word)) return { test: (value) => value === true };
    if (/^(?:=?\s*)(?:no|n|false|0)$/.test(word)) return { test: (value) => value === false };
    return { problem: 'yes, no, none or any' };
  }
  const range = RANGE.exec(text);
  if (range && (range[1] ?? range[2]) !== undefined) {
    const low = range[1] === undefined ? -Infinity : toNumber(range[1]);
    const high = range[2] === undefined ? Infinity : toNumber(range[2]);
    return { test: (value) => numeric(value) >= low && numeric(value) <= high };
  }
  const comparison = COMPARISON.exec(text);
  const compare = COMPARE[comparison?.[1] ?? ''];
  if (comparison && compare) {
    const bound = toNumber(comparison[2] ?? '');
    return { test: (value) => !isMissing(value) && compare(numeric(value), bound) };
  }
  if (isNumeric(kind)) {
    if (!PLAIN.test(text)) return { problem: 'a number, a range such as 0.5..1, >0.5, none or any' };
    return { test: (value) => numeric(value) === toNumber(text) };
  }
  const exact = text.startsWith('=') ? text.slice(1).trim() : undefined;
  if (exact !== undefined) return { test: (value) => plainText(value) === exact };
  const not = text.startsWith('!');
  const part = (not ? text.slice(1).trim() : text).toLowerCase();
  return {
    test: (value) => plainText(value).toLowerCase().includes(part) !== not,
  };
}

/** Rows that pass every filter; one that cannot be read filters nothing. */
export function filterRows(rows: readonly Row[], filters: Filters): readonly Row[] {
  const tests: { readonly id: string; readonly test: Test }[] = [];
  for (const [id, expression] of Object.entries(filters)) {
    const parsed = parseFilter(expression, columnSpec(id, rows).kind);
    if (parsed && 'test' in parsed) tests.push({ id, test: parsed.test });
  }
  return tests.length === 0 ? rows : rows.filter((row) => tests.every(({ id, test }) => test(row[id])));
}

/** A range as a filter: few digits, rounded outwards so that what was inside stays inside. */
export function rangeFilter(low: number, high: number): string {
  const digits = Math.min(12, Math.max(0, 2 - Math.floor(Math.log10(Math.max(high - low, 1e-10)))));
  const scale = 10 ** digits;
  const text = (value: number): string => String(+value.toFixed(digits));
  return `${text(Math.floor(low * scale) / scale)}..${text(Math.ceil(high * scale) / scale)}`;
}

/** The two ends of a filter that is a range. */
export function readRange(expression: string | undefined): readonly [number, number] | undefined {
  const range = RANGE.exec((expression ?? '').trim());
  if (!range || (range[1] ?? range[2]) === undefined) return undefined;
  return [
    range[1] === undefined ? -Infinity : toNumber(range[1]),
    range[2] === undefined ? Infinity : toNumber(range[2]),
  ];
}

/** `reward~>0.5;status~trunc`, as it is in the address. */
export const filtersCodec = {
  read: (text: string): Filters => {
    const filters: Record<string, string> = {};
    for (const part of text.split(';')) {
      const cut = part.indexOf('~');
      if (cut > 0) filters[part.slice(0, cut)] = part.slice(cut + 1).replaceAll('%3B', ';');
    }
    return filters;
  },
  write: (filters: Filters): string =>
    Object.entries(filters)
      .filter(([, expression]) => expression !== '')
      .map(([id, expression]) => `${id}~${expression.replaceAll(';', '%3B')}`)
      .join(';'),
};
