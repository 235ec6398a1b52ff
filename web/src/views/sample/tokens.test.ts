import { describe, expect, it } from 'vitest';
import type { Tokens } from '../../api/types';
import { scaleFor, stepClass, stepOf } from './color';
import { layoutChunk, layoutPage, rowOfToken, rowPieces, tokenOfRow } from './layout';
import { createStore, fill, missingChunks, nextOf, outliers } from './tokens';

const slice = (text: (string | null)[], prompt: number, values: (number | null)[]): Tokens => ({
  rollout_id: 0,
  sample_index: 0,
  evaluation: false,
  total_len: text.length,
  prompt_len: prompt,
  start: 0,
  end: text.length,
  response_offset: prompt,
  token_ids: text.map((_, at) => at),
  token_text: text,
  rollout_log_probs: null,
  loss_mask: values.map((value) => (value === null ? 0 : 1)),
  train_log_probs: null,
  ref_log_probs: null,
  lp_diff: values,
  imp_ratio: null,
  entropy: null,
  ref_entropy: null,
  advantages: null,
  returns: null,
});
const store = (text: (string | null)[], prompt: number, values: (number | null)[] = []) => {
  const first = slice(text, prompt, values);
  const made = createStore(first);
  fill(made, first);
  return made;
};

describe('a store of tokens', () => {
  it('puts series behind the prompt and keeps what is missing apart from 0', () => {
    const made = store(['a', 'b', 'c'], 1, [0, null]);
    expect([...(made.series.lp_diff ?? [])]).toEqual([NaN, 0, NaN]);
    expect([...(made.mask ?? [])]).toEqual([255, 1, 0]);
    expect(missingChunks(made, 0)).toEqual([]);
  });

  it('finds the farthest tokens in order of position', () => {
    const values = Float32Array.from([0.1, -5, NaN, 0.2, 3]);
    expect(outliers(values, 'lp_diff', 2)).toEqual([1, 4]);
    expect(outliers(Float32Array.from([1, 0.01, 2]), 'imp_ratio', 1)).toEqual([1]);
    expect(nextOf([1, 4], 1, false)).toBe(4);
    expect(nextOf([1, 4], 4, false)).toBe(1);
    expect(nextOf([1, 4], null, true)).toBe(4);
  });
});

describe('layout', () => {
  const lines = (texts: (string | null)[], columns: number, prompt = 0): string[] => {
    const made = store(texts, prompt);
    const rows = layoutChunk(made, 0, texts.length, columns);
    return rows.starts.map((_, row) =>
      rowPieces(made, rows, row)
        .map((piece) => piece.text + (piece.newline ? '⏎' : ''))
        .join('|'),
    );
  };

  it('breaks at the width and at newlines', () => {
    expect(lines(['ab', 'cd', 'ef'], 5)).toEqual(['ab|cd', 'ef']);
    expect(lines(['a\n', 'b', '\n\n', 'c'], 5)).toEqual(['a⏎', 'b|⏎', '⏎', 'c']);
  });

  it('cuts a token that is wider than a row', () => {
    expect(lines(['abcdefgh', 'i'], 3)).toEqual(['abc', 'def', 'gh|i']);
    expect(lines(['x', 'abcd'], 3)).toEqual(['x', 'abc', 'd']);
  });

  it('begins the response on its own row, and shows ids where there is no text', () => {
    expect(lines(['p', 'r', null], 20, 1)).toEqual(['p', 'r|⟨2⟩']);
  });

  it('finds rows of tokens and tokens of rows', () => {
    const made = store(['ab', 'cd', 'ef\n', 'gh'], 0);
    const page = layoutPage(made, [0, 4], 4, new Map());
    expect([0, 1, 2, 3].map((at) => rowOfToken(page, at))).toEqual([0, 0, 1, 2]);
    expect([0, 1, 2].map((row) => tokenOfRow(page, row))).toEqual([0, 2, 3]);
  });

  it('takes two megabytes on one line', () => {
    const made = store(['x'.repeat(2_000_000)], 0);
    expect(layoutPage(made, [0, 1], 100, new Map()).rows).toBe(20_000);
  });
});

describe('colours', () => {
  it('diverge around where trainer and engine agree', () => {
    const scale = scaleFor('imp_ratio', Float32Array.from([0.5, 1, 1.5]));
    expect(stepOf(scale, 'imp_ratio', 1)).toBe(0);
    expect(stepClass(stepOf(scale, 'imp_ratio', 9))).toBe('s-p6');
    expect(stepClass(stepOf(scale, 'imp_ratio', 0.5))).toBe('s-n6');
    expect(stepOf(scale, 'imp_ratio', NaN)).toBeNull();
  });

  it('let what was unlikely stand out', () => {
    const scale = scaleFor('rollout_log_probs', Float32Array.from([-4, -2, 0]));
    expect(stepOf(scale, 'rollout_log_probs', -4)).toBe(6);
    expect(stepOf(scale, 'rollout_log_probs', 0)).toBe(0);
  });
});
