// Categories of metrics, which axis each metric is logged over, and filtering by text. Pure.

import { categoryOf } from '../../state/metric-key';

/** The known ones in this order, the run's own by name, then `dump` and the engines. */
const FIRST = ['rollout', 'perf', 'train', 'eval'];
const LAST = ['other', 'dump', 'sglang'];

export interface Category {
  readonly name: string;
  readonly keys: readonly string[];
}

export function categories(
  metricKeys: readonly string[],
  engineKeys: readonly string[],
): readonly Category[] {
  const byName = new Map<string, string[]>();
  for (const key of metricKeys) {
    const name = categoryOf(key);
    const known = byName.get(name);
    if (known) known.push(key);
    else byName.set(name, [key]);
  }
  const rank = (name: string): number => {
    const first = FIRST.indexOf(name);
    return first >= 0 ? first - FIRST.length : LAST.indexOf(name) + 1;
  };
  const found = [...byName].map(([name, keys]) => ({ name, keys: keys.toSorted(byText) }));
  // A logged metric can begin with sglang/ too: one category for both would mix axes.
  if (engineKeys.length > 0) found.push({ name: 'sglang', keys: engineKeys.toSorted(byText) });
  return found.sort((a, b) => rank(a.name) - rank(b.name) || byText(a.name, b.name));
}

const byText = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

/** What a metric is logged over. */
export function stepKeyOf(key: string): string {
  const category = categoryOf(key);
  return category === 'train' || category === 'eval' ? `${category}/step` : 'rollout/step';
}

export interface Filter {
  readonly test: (key: string) => boolean;
  /** Why a regular expression is none. */
  readonly error?: string;
}

/** `/…/` or `/…/i` is a regular expression, anything else words that must all be there. */
export function makeFilter(text: string): Filter {
  const trimmed = text.trim();
  const regex = /^\/(.+?)\/([a-z]*)$/.exec(trimmed);
  if (regex?.[1] !== undefined) {
    try {
      const made = new RegExp(regex[1], (regex[2] ?? '').replace(/[gy]/g, ''));
      return { test: (key) => made.test(key) };
    } catch (cause) {
      return { test: () => true, error: cause instanceof Error ? cause.message : String(cause) };
    }
  }
  const words = trimmed.toLowerCase().split(/\s+/).filter(Boolean);
  return { test: (key) => words.every((word) => key.toLowerCase().includes(word)) };
}
