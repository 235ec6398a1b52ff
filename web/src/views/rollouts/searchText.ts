// Text search over a step: texts are fetched a few at a time, searched as they come, and kept for the next search.

import type { StepRef } from '../../api';
import { turnsOfMessages, turnsOfText, turnText } from '../sample/conversation';
import { fetchText } from '../sample/text';

export interface Hit {
  readonly index: number;
  readonly count: number;
  readonly inPrompt: number;
  /** Around the first match: before, the match, after. */
  readonly snippet: readonly [string, string, string];
}

interface Text {
  readonly prompt: string;
  readonly response: string;
  readonly from: 'conversation' | 'tokens' | 'nothing';
  readonly isCut: boolean;
}

export interface Progress {
  readonly done: number;
  readonly of: number;
  readonly conversations: number;
  readonly tokens: number;
  readonly nothing: number;
  readonly cut: number;
  readonly failed: number;
}

const AT_ONCE = 4;
/** Characters that are kept, of one step. */
const MOST_KEPT = 64 << 20;
const AROUND = 70;

let keptFor = '';
let keptSize = 0;
const kept = new Map<number, Text>();

async function load(step: StepRef, index: number, signal: AbortSignal): Promise<Text> {
  const key = `${step.id}:${step.evaluation}`;
  if (key !== keptFor) {
    kept.clear();
    keptFor = key;
    keptSize = 0;
  }
  const known = kept.get(index);
  if (known) return known;
  const found = await fetchText(step, index, signal);
  let text: Text = { prompt: '', response: '', from: 'nothing', isCut: false };
  if (found.from !== 'nothing') {
    const turns =
      found.from === 'conversation'
        ? turnsOfMessages(found.messages)
        : turnsOfText(found.prompt, found.response);
    const join = (isPrompt: boolean): string =>
      turns
        .filter((turn) => turn.isPrompt === isPrompt)
        .map(turnText)
        .join('\n');
    text = {
      prompt: join(true),
      response: join(false),
      from: found.from,
      isCut: found.from === 'tokens' && found.isCut,
    };
  }
  const size = text.prompt.length + text.response.length;
  if (keptFor === key && keptSize + size <= MOST_KEPT) {
    kept.set(index, text);
    keptSize += size;
  }
  return text;
}

export interface Query {
  readonly text: string;
  readonly isRegex: boolean;
  readonly where: 'all' | 'prompt' | 'response';
}

/** A matcher, or what is wrong with the pattern. */
export function matcher(query: Query): RegExp | string {
  try {
    const source = query.isRegex ? query.text : query.text.replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    return new RegExp(source, 'giu');
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
}

/** All matches in a sample's text; undefined for none. */
export function findIn(
  index: number,
  text: Pick<Text, 'prompt' | 'response'>,
  pattern: RegExp,
  where: Query['where'],
): Hit | undefined {
  let count = 0;
  let inPrompt = 0;
  let snippet: Hit['snippet'] | undefined;
  const scan = (part: string): number => {
    let n = 0;
    for (const match of part.matchAll(pattern)) {
      if (match[0] === '') continue;
      n += 1;
      snippet ??= [
        part.slice(Math.max(0, match.index - AROUND), match.index),
        match[0].slice(0, 200),
        part.slice(match.index + match[0].length, match.index + match[0].length + AROUND),
      ];
      if (n >= 10_000) break;
    }
    return n;
  };
  // Responses first: the snippet of what was written says more than that of a prompt that all share.
  if (where !== 'prompt') count += scan(text.response);
  if (where !== 'response') {
    inPrompt = scan(text.prompt);
    count += inPrompt;
  }
  return snippet && { index, count, inPrompt, snippet };
}

/** Searches samples in this order and reports as it goes; resolves when all are done or the signal is aborted. */
export async function searchStep(
  step: StepRef,
  indices: readonly number[],
  pattern: RegExp,
  where: Query['where'],
  signal: AbortSignal,
  report: (progress: Progress, hits: readonly Hit[]) => void,
): Promise<void> {
  const hits = new Map<number, Hit>();
  const progress = {
    done: 0,
    of: indices.length,
    conversations: 0,
    tokens: 0,
    nothing: 0,
    cut: 0,
    failed: 0,
  };
  let next = 0;
  let told = performance.now();
  const tell = (): void => {
    told = performance.now();
    report(
      { ...progress },
      indices.flatMap((index) => hits.get(index) ?? []),
    );
  };
  const worker = async (): Promise<void> => {
    while (next < indices.length && !signal.aborted) {
      const index = indices[next] ?? 0;
      next += 1;
      try {
        const text = await load(step, index, signal);
        progress[text.from === 'conversation' ? 'conversations' : text.from] += 1;
        if (text.isCut) progress.cut += 1;
        const hit = findIn(index, text, pattern, where);
        if (hit) hits.set(index, hit);
      } catch {
        progress.failed += 1;
      }
      progress.done += 1;
      if (performance.now() - told > 120) {
        tell();
        // Texts that are kept come at once: the page still answers.
        await new Promise((resolve) => setTimeout(resolve));
      }
    }
  };
  tell();
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  if (!signal.aborted) tell();
}
