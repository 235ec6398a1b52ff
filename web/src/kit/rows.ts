// Which rows of a list of equal heights are in sight. Pure.

export interface RowWindow {
  /** Indices from the first row that exists to the last, and how far they are from the list's ends in pixels. */
  readonly first: number;
  readonly end: number;
  readonly before: number;
  readonly after: number;
}

/** Rows beyond the edges, so that a fast scroll does not show a gap. */
const MORE = 12;

export function rowWindow(count: number, rowHeight: number, top: number, height: number): RowWindow {
  // In steps, so that small scrolls change nothing.
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight / 4) * 4 - MORE));
  const end = Math.max(first, Math.min(count, Math.ceil((top + height) / rowHeight / 4) * 4 + MORE));
  return { first, end, before: first * rowHeight, after: (count - end) * rowHeight };
}
