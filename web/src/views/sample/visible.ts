// Characters that cannot be seen, or that change how what is around them is seen, as signs. Pure.

const NAMES: Readonly<Record<number, string>> = {
  0x061c: 'ALM',
  0x200b: 'ZWSP',
  0x200c: 'ZWNJ',
  0x200e: 'LRM',
  0x200f: 'RLM',
  0x202a: 'LRE',
  0x202b: 'RLE',
  0x202c: 'PDF',
  0x202d: 'LRO',
  0x202e: 'RLO',
  0x2060: 'WJ',
  0x2066: 'LRI',
  0x2067: 'RLI',
  0x2068: 'FSI',
  0x2069: 'PDI',
  0xfeff: 'BOM',
};

// Tab and newline are layout; a joiner (200D) belongs to emoji and to scripts that need it.
const UNSEEN =
  // eslint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200c\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Control characters as ‹\x1b›, marks of direction and what has no width as ‹RLO›. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => {
    const code = char.charCodeAt(0);
    if (code < 0x20 || code === 0x7f) return `‹\\x${code.toString(16).padStart(2, '0')}›`;
    const name = NAMES[code];
    return `‹${name ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}›`;
  });
}

/** Cuts text without splitting a pair of surrogates. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

/** Text in pieces of about `size`, cut at newlines where there are any: the browser lays out only those in sight. */
export function pieces(text: string, size: number): readonly string[] {
  if (text.length <= size) return [text];
  const list: string[] = [];
  let at = 0;
  while (at < text.length) {
    let end = Math.min(text.length, at + size);
    if (end < text.length) {
      const line = text.lastIndexOf('\n', end);
      if (line > at + size / 2) end = line + 1;
      else if (isHigh(text, end - 1)) end -= 1;
    }
    list.push(text.slice(at, end));
    at = end;
  }
  return list;
}

const isHigh = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at);
  return code >= 0xd800 && code <= 0xdbff;
};
