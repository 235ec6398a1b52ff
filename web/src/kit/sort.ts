// The order of a table by any number of columns. Pure.

export interface Sort {
  readonly id: string;
  readonly down: boolean;
}

/** `-reward,sample_index`, as it is in the address. */
export const readSort = (text: string): readonly Sort[] =>
  text
    .split(',')
    .filter((part) => part !== '' && part !== '-')
    .map((part) => (part.startsWith('-') ? { id: part.slice(1), down: true } : { id: part, down: false }));
export const writeSort = (sort: readonly Sort[]): string =>
  sort.map(({ id, down }) => (down ? `-${id}` : id)).join(',');

/** What a click on a header makes of the order: down, up, none; with Shift beside what is there. */
export function nextSort(sort: readonly Sort[], id: string, add: boolean): readonly Sort[] {
  const old = sort.find((each) => each.id === id);
  const next = old === undefined ? { id, down: true } : old.down ? { id, down: false } : undefined;
  if (!add) return next ? [next] : [];
  if (old === undefined) return next ? [...sort, next] : sort;
  return sort.flatMap((each) => (each.id === id ? (next ? [next] : []) : [each]));
}

type Sortable = number | string | boolean | null | undefined;

/** Compares two cells; what is missing comes last in both directions. */
export function compareCells(a: Sortable, b: Sortable, down: boolean): number {
  const missing = (v: Sortable): boolean => v === null || v === undefined || Number.isNaN(v);
  if (missing(a) || missing(b)) return Number(missing(a)) - Number(missing(b));
  const order =
    typeof a === 'string' && typeof b === 'string'
      ? a.localeCompare(b, undefined, { numeric: true })
      : Number(a) - Number(b);
  return down ? -order : order;
}

/** Rows in that order; equal ones as they were. */
export function sortRows<Row>(
  rows: readonly Row[],
  sort: readonly Sort[],
  value: (row: Row, id: string) => Sortable,
): readonly Row[] {
  if (sort.length === 0) return rows;
  return rows.toSorted((a, b) => {
    for (const { id, down } of sort) {
      const order = compareCells(value(a, id), value(b, id), down);
      if (order !== 0) return order;
    }
    return 0;
  });
}
