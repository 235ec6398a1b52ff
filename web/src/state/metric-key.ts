// What the key of a metric says. Pure.

/** The part before the first slash; a key without one is `other`. */
export function categoryOf(key: string): string {
  const cut = key.indexOf('/');
  return cut > 0 ? key.slice(0, cut) : 'other';
}
