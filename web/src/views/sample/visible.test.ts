import { describe, expect, it } from 'vitest';
import { cut, pieces, visible } from './visible';

describe('visible', () => {
  it('shows what controls, turns or hides text', () => {
    expect(visible('a\u001b[31m\u202eb\u200bc\ud800')).toBe('a‹\\x1b›[31m‹RLO›b‹ZWSP›c‹U+D800›');
  });

  it('leaves layout, emoji and scripts alone', () => {
    const text = 'a\tb\n👩\u200d🔬 مرحبا';
    expect(visible(text)).toBe(text);
  });
});

describe('pieces', () => {
  it('put together are the text, and none splits a pair', () => {
    const text = `${'x'.repeat(7)}😀`.repeat(100);
    const all = pieces(text, 8);
    expect(all.join('')).toBe(text);
    expect(all.every((piece) => !/^[\udc00-\udfff]|[\ud800-\udbff]$/.test(piece))).toBe(true);
    expect(cut('a😀', 2)).toBe('a');
  });
});
