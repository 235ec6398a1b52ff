// What the search of the frame finds: places of the page by their names. Pure.

export interface Place {
  readonly title: string;
  /** What it is, beside the title. */
  readonly kind: string;
  readonly href: string;
}

/** How well a title answers; 0 is not at all. */
function score(title: string, words: readonly string[]): number {
  let sum = 1;
  for (const word of words) {
    const at = title.indexOf(word);
    if (at < 0) return 0;
    if (at === 0) sum += 8;
    else if (/[^a-z0-9]/.test(title[at - 1] ?? '')) sum += 5;
    if (title.length === word.length) sum += 20;
    // Of two that have it the shorter is meant.
    sum += 4 / title.length;
  }
  return sum;
}

/** The best places for some words, in any order; without words the first ones. */
export function findAll(text: string, places: readonly Place[], most: number): readonly Place[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return places.slice(0, most);
  return places
    .map((place) => ({ place, score: score(place.title.toLowerCase(), words) }))
    .filter((each) => each.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, most)
    .map((each) => each.place);
}
