import { describe, expect, it } from 'vitest';
import { toParquet } from './parquet';

describe('toParquet', () => {
  it('frames a file of pages and a footer', () => {
    const file = toParquet(
      ['a', 'b'],
      [
        [1, 'x'],
        [null, 'é'],
      ],
    );
    const text = (from: number, to: number): string => new TextDecoder().decode(file.slice(from, to));
    expect(text(0, 4)).toBe('PAR1');
    expect(text(file.length - 4, file.length)).toBe('PAR1');
    const footer = new DataView(file.buffer).getUint32(file.length - 8, true);
    expect(footer).toBeGreaterThan(40);
    expect(footer).toBeLessThan(file.length - 12);
  });
});
