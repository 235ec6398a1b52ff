import { describe, expect, it } from 'vitest';
import { parseMarkdown, type Node } from './markdown';

const flat = (nodes: readonly Node[] | undefined): string =>
  (nodes ?? [])
    .map((node) =>
      node.kind === 'element'
        ? `${node.tag}(${flat(node.children)})`
        : node.kind === 'text'
          ? node.text
          : node.kind === 'code'
            ? `code:${node.text}`
            : node.kind === 'link'
              ? `link:${node.text}>${node.to}`
              : node.kind,
    )
    .join(' ');

describe('parseMarkdown', () => {
  it('knows what people write', () => {
    expect(flat(parseMarkdown('# T\n\na **b** `c`\n\n- x\n- y'))).toBe(
      'h3(T) p(a  strong(b)   code:c) ul(li(x) li(y))',
    );
    expect(flat(parseMarkdown('|a|\n|-|\n|1|'))).toBe('table(tr(th(a)) tr(td(1)))');
  });

  it('leaves HTML the text it is', () => {
    expect(flat(parseMarkdown('<script>alert(1)</script>'))).toContain('<script>alert(1)</script>');
    expect(flat(parseMarkdown('a <img src=x onerror=alert(1)> b'))).toContain('<img src=x onerror=alert(1)>');
  });

  it('names links and pictures', () => {
    expect(flat(parseMarkdown('[a](javascript:alert(1)) ![p](data:image/png;base64,AA)'))).toContain(
      'link:a>javascript:alert(1)',
    );
  });

  it('gives up on what is long or made to hurt, at once', () => {
    const started = performance.now();
    for (const mark of [
      '*',
      '[',
      '>',
      '`',
      '_',
      '<',
      '![',
      '**a ',
      '> ',
      '- ',
      '[a](',
      '|',
      '1. ',
      '    ',
      '~~',
      '&',
      '\\',
    ]) {
      parseMarkdown(mark.repeat(Math.floor(20_000 / mark.length)));
    }
    expect(parseMarkdown('a'.repeat(30_000))).toBeUndefined();
    // A bound against hanging, not a measure.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});
