// A recorded conversation, or raw text with a chat template's markup, as turns of parts. What was recorded may be
// anything: each step takes `unknown`, looks for what it knows, and keeps the rest as JSON. Pure; every scan is linear.

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thinking'; readonly text: string; readonly isOpen?: boolean }
  | {
      readonly kind: 'tool_call';
      readonly name: string;
      readonly args: string;
      readonly id?: string | undefined;
    }
  | { readonly kind: 'tool_response'; readonly text: string }
  /** Pictures, sound, files: named, never loaded. */
  | { readonly kind: 'media'; readonly what: string; readonly note: string }
  | { readonly kind: 'json'; readonly name: string; readonly json: string };

export interface Turn {
  readonly role: string;
  readonly name?: string | undefined;
  readonly parts: readonly Part[];
  /** It stood in the prompt. */
  readonly isPrompt: boolean;
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** JSON indented where it is JSON; else as it is. Deep or huge values stay as they are. */
export function pretty(text: string): string {
  if (text.length > 200_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function json(value: unknown): string {
  try {
    return value === undefined ? '' : JSON.stringify(value, null, 2);
  } catch {
    return String(value);
  }
}

const THINK = ['<think>', '</think>'] as const;
const MARKS: readonly (readonly [
  open: string,
  close: string,
  kind: 'thinking' | 'tool_call' | 'tool_response',
])[] = [
  [...THINK, 'thinking'],
  ['<tool_call>', '</tool_call>', 'tool_call'],
  ['<tool_response>', '</tool_response>', 'tool_response'],
];

function toolCall(body: string): Part {
  const text = body.trim();
  try {
    const call = JSON.parse(text) as unknown;
    if (isObject(call)) {
      const args = call.arguments ?? call.parameters;
      const name = typeof call.name === 'string' ? call.name : '';
      if (name !== '') {
        return {
          kind: 'tool_call',
          name,
          args: typeof args === 'string' ? pretty(args) : args === undefined ? '' : json(args),
        };
      }
    }
  } catch {
    // Shown as it was written.
  }
  return { kind: 'tool_call', name: '', args: text };
}

/** Splits `<think>`, `<tool_call>` and `<tool_response>` out of raw text. An end without a beginning closes what the
 * template had opened in the prompt; a beginning without an end lasts to the end of the text. */
export function splitMarkup(text: string): readonly Part[] {
  const parts: Part[] = [];
  const addText = (piece: string): void => {
    if (piece.trim() !== '') parts.push({ kind: 'text', text: piece.replace(/^\n+/, '').trimEnd() });
  };
  let at = 0;
  const firstOpen = text.indexOf(THINK[0]);
  const firstClose = text.indexOf(THINK[1]);
  if (firstClose >= 0 && (firstOpen < 0 || firstClose < firstOpen)) {
    const thought = text.slice(0, firstClose).trim();
    if (thought !== '') parts.push({ kind: 'thinking', text: thought });
    at = firstClose + THINK[1].length;
  }
  // Where each mark comes next; looked up again only when it was passed.
  const next = MARKS.map(([open]) => text.indexOf(open, at));
  for (;;) {
    let which = -1;
    for (let i = 0; i < MARKS.length; i += 1) {
      if ((next[i] ?? -1) >= 0 && (next[i] ?? -1) < at) next[i] = text.indexOf(MARKS[i]?.[0] ?? '', at);
      const found = next[i] ?? -1;
      if (found >= 0 && (which < 0 || found < (next[which] ?? 0))) which = i;
    }
    const mark = MARKS[which];
    if (!mark) break;
    const from = next[which] ?? 0;
    addText(text.slice(at, from));
    const [open, close, kind] = mark;
    const end = text.indexOf(close, from + open.length);
    const body = text.slice(from + open.length, end < 0 ? undefined : end);
    if (kind === 'thinking') parts.push({ kind, text: body.trim(), ...(end < 0 ? { isOpen: true } : {}) });
    else if (kind === 'tool_call') parts.push(toolCall(body));
    else parts.push({ kind, text: pretty(body.trim()) });
    if (end < 0) return parts;
    at = end + close.length;
  }
  addText(text.slice(at));
  return parts;
}

const START = '<|im_start|>';
const END = '<|im_end|>';

/** Splits ChatML text into turns; other text is one turn of `role`. */
export function splitTemplate(text: string, role: string, isPrompt: boolean): readonly Turn[] {
  const turns: Turn[] = [];
  const add = (who: string, body: string): void => {
    const cut = body.endsWith(END) ? body.slice(0, -END.length) : body;
    const parts = splitMarkup(cut);
    if (parts.length > 0 || who !== role) turns.push({ role: who, parts, isPrompt });
  };
  let at = text.indexOf(START);
  const before = at < 0 ? text : text.slice(0, at);
  const head = before.replace(/<\|im_end\|>\s*$/, '');
  if (head.trim() !== '') add(role, head);
  while (at >= 0) {
    const next = text.indexOf(START, at + START.length);
    const piece = text.slice(at + START.length, next < 0 ? undefined : next);
    const line = piece.indexOf('\n');
    const who = (line < 0 ? piece : piece.slice(0, line)).trim();
    const body = (line < 0 ? '' : piece.slice(line + 1)).trimEnd();
    if (who.length > 0 && who.length <= 40) add(who, body);
    else add(role, piece.trimEnd());
    at = next;
  }
  return turns;
}

/** Turns of decoded text. The last prompt turn is often the header of the response. */
export function turnsOfText(prompt: string, response: string): readonly Turn[] {
  const before = splitTemplate(prompt, 'prompt', true);
  const last = before.at(-1);
  const headed = last?.parts.length === 0;
  return [
    ...(headed ? before.slice(0, -1) : before),
    ...splitTemplate(response, headed ? last.role : 'assistant', false),
  ];
}

const KIB = 1024;

function mediaNote(url: string): string {
  if (!url.startsWith('data:')) return url.slice(0, 300);
  const type = url.slice(5, 80).split(/[;,]/, 1)[0] ?? '';
  const bytes = Math.round((url.length - url.indexOf(',') - 1) * 0.75);
  return `data URL, ${type === '' ? 'no type' : type}, ${bytes < KIB ? `${bytes} B` : `${Math.round(bytes / KIB)} KiB`}`;
}

function contentPart(part: unknown): readonly Part[] {
  if (typeof part === 'string') return splitMarkup(part);
  if (!isObject(part)) return [{ kind: 'json', name: 'part', json: json(part) }];
  const type = typeof part.type === 'string' ? part.type : '';
  if (typeof part.text === 'string') {
    return /think|reason/.test(type) ? [{ kind: 'thinking', text: part.text }] : splitMarkup(part.text);
  }
  if (typeof part.thinking === 'string') return [{ kind: 'thinking', text: part.thinking }];
  for (const key of ['image_url', 'image', 'audio_url', 'input_audio', 'video_url', 'video', 'file', 'url']) {
    if (!(key in part)) continue;
    const value = part[key];
    const url =
      typeof value === 'string'
        ? value
        : isObject(value) && typeof value.url === 'string'
          ? value.url
          : undefined;
    return [
      {
        kind: 'media',
        what: key.replace(/^input_|_url$/g, ''),
        note: url === undefined ? shorten(json(value)) : mediaNote(url),
      },
    ];
  }
  return [{ kind: 'json', name: type === '' ? 'part' : type, json: json(part) }];
}

const shorten = (text: string): string => (text.length > 300 ? `${text.slice(0, 300)} …` : text);

function recordedCall(call: unknown): Part {
  const inner = isObject(call) && isObject(call.function) ? call.function : call;
  if (!isObject(inner)) return { kind: 'json', name: 'tool_call', json: json(call) };
  const args = inner.arguments;
  const id = isObject(call) && typeof call.id === 'string' ? call.id : undefined;
  return {
    kind: 'tool_call',
    name: typeof inner.name === 'string' ? inner.name : '',
    args: typeof args === 'string' ? pretty(args) : args === undefined ? '' : json(args),
    ...(id === undefined ? {} : { id }),
  };
}

const KNOWN = new Set([
  'role',
  'name',
  'content',
  'reasoning_content',
  'reasoning',
  'thinking',
  'tool_calls',
  'tool_call_id',
]);

export function turnOf(message: unknown, isPrompt: boolean): Turn {
  if (!isObject(message)) {
    const text =
      typeof message === 'string'
        ? splitMarkup(message)
        : [{ kind: 'json', name: 'message', json: json(message) } as const];
    return { role: 'message', parts: text, isPrompt };
  }
  const role = typeof message.role === 'string' ? message.role : 'message';
  const parts: Part[] = [];
  for (const key of ['reasoning_content', 'reasoning', 'thinking'] as const) {
    const thought = message[key];
    if (typeof thought === 'string' && thought.trim() !== '') parts.push({ kind: 'thinking', text: thought });
  }
  const { content } = message;
  if (typeof content === 'string') {
    if (role === 'tool' || role === 'function') parts.push({ kind: 'tool_response', text: pretty(content) });
    else parts.push(...splitMarkup(content));
  } else if (Array.isArray(content)) parts.push(...content.flatMap(contentPart));
  else if (content !== null && content !== undefined)
    parts.push({ kind: 'json', name: 'content', json: json(content) });
  const calls = message.tool_calls;
  if (Array.isArray(calls)) parts.push(...calls.map(recordedCall));
  else if (calls !== null && calls !== undefined)
    parts.push({ kind: 'json', name: 'tool_calls', json: json(calls) });
  const extra = Object.entries(message).filter(([key, value]) => !KNOWN.has(key) && value !== null);
  if (extra.length > 0) parts.push({ kind: 'json', name: 'more', json: json(Object.fromEntries(extra)) });
  const id = typeof message.tool_call_id === 'string' ? message.tool_call_id : undefined;
  const name = typeof message.name === 'string' ? message.name : id;
  return { role, ...(name === undefined ? {} : { name }), parts, isPrompt };
}

/** Turns of a trajectory line. `messages` usually begins with the prompt: those are marked and not told twice. */
export function turnsOfMessages(line: {
  readonly prompt?: unknown;
  readonly messages?: unknown;
}): readonly Turn[] {
  const messages: readonly unknown[] = Array.isArray(line.messages) ? line.messages : [];
  const prompt: readonly unknown[] = Array.isArray(line.prompt)
    ? line.prompt
    : line.prompt === null || line.prompt === undefined
      ? []
      : [{ role: 'prompt', content: line.prompt }];
  let shared = 0;
  if (Array.isArray(line.prompt)) {
    while (shared < prompt.length && shared < messages.length && same(prompt[shared], messages[shared]))
      shared += 1;
  }
  if (shared === prompt.length || messages.length === 0) {
    const all = messages.length === 0 ? prompt : messages;
    return all.map((message, at) => turnOf(message, at < prompt.length));
  }
  return [
    ...prompt.map((message) => turnOf(message, true)),
    ...messages.map((message) => turnOf(message, false)),
  ];
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** All the text of a part, to search and to copy. */
export function partText(part: Part): string {
  if (part.kind === 'tool_call') return part.name === '' ? part.args : `${part.name}(${part.args})`;
  if (part.kind === 'media') return `[${part.what}: ${part.note}]`;
  return part.kind === 'json' ? part.json : part.text;
}

export const turnText = (turn: Turn): string => turn.parts.map(partText).join('\n');

/** How often `needle` is in each turn; case does not matter. */
export function countMatches(turns: readonly Turn[], needle: string): readonly number[] {
  const wanted = needle.toLowerCase();
  return turns.map((turn) => (wanted === '' ? 0 : occurrences(turnText(turn).toLowerCase(), wanted)));
}

export function occurrences(text: string, wanted: string): number {
  let n = 0;
  for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) n += 1;
  return n;
}
