// The lane selector as text: its parts as chips, and lanes added and taken away. The server says what a selector means
// (docs/http.md); here only `g:` parts are understood, since clicking on lanes writes those.

/** The parts of a selector, without blanks and repetitions. */
export function partsOf(text: string): string[] {
  return [
    ...new Set(
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    ),
  ];
}

/** Indices of lanes as `g:` parts: [0, 1, 2, 5] is `g:0-2,g:5`. */
export function compress(indices: Iterable<number>): string {
  const sorted = [...new Set(indices)].sort((a, b) => a - b);
  const parts: string[] = [];
  let start: number | undefined;
  sorted.forEach((index, at) => {
    start ??= index;
    if (sorted[at + 1] === index + 1) return;
    parts.push(start === index ? `g:${index}` : `g:${start}-${index}`);
    start = undefined;
  });
  return parts.join(',');
}

const RANGE = /^g:(\d{1,6})(?:-(\d{1,6}))?$/;
/** A range of more lanes than any run has is not written out. */
const MOST = 100_000;

/** The lanes that a `g:` part names; undefined for another part. */
export function indicesOf(part: string): number[] | undefined {
  const found = RANGE.exec(part);
  if (!found) return undefined;
  const from = Number(found[1]);
  const to = Number(found[2] ?? found[1]);
  if (to < from || to - from > MOST) return undefined;
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

function split(text: string): { readonly lanes: Set<number>; readonly others: string[] } {
  const lanes = new Set<number>();
  const others: string[] = [];
  for (const part of partsOf(text)) {
    const indices = indicesOf(part);
    if (indices) for (const index of indices) lanes.add(index);
    else others.push(part);
  }
  return { lanes, others };
}

/** The selector with more lanes in it. */
export function withLanes(text: string, added: Iterable<number>): string {
  const { lanes, others } = split(text);
  for (const index of added) lanes.add(index);
  return partsOf([...others, compress(lanes)].join(',')).join(',');
}

/** The selector with lanes taken out; `selected` is what it means now, for parts that cannot be taken apart. */
export function withoutLanes(text: string, removed: ReadonlySet<number>, selected: Iterable<number>): string {
  const { lanes, others } = split(text);
  const left = others.length === 0 ? lanes : selected;
  return compress([...left].filter((index) => !removed.has(index)));
}

/** A click on a lane: in or out. */
export function toggleLane(text: string, index: number, selected: readonly number[]): string {
  return selected.includes(index) ? withoutLanes(text, new Set([index]), selected) : withLanes(text, [index]);
}
