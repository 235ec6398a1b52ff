// Markdown as a tree of a few kinds of nodes that hold text alone. HTML in it stays the text it is, links and pictures
// are named and never followed. Text that is long or too much for the lexer is not Markdown: undefined.

import { marked, type Token, type Tokens as Marked } from 'marked';

export type Tag =
  | 'p'
  | 'h3'
  | 'h4'
  | 'h5'
  | 'ul'
  | 'ol'
  | 'li'
  | 'blockquote'
  | 'em'
  | 'strong'
  | 'del'
  | 'table'
  | 'tr'
  | 'th'
  | 'td';

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly text: string; readonly isBlock: boolean; readonly lang: string }
  | { readonly kind: 'link'; readonly text: string; readonly to: string }
  | { readonly kind: 'rule' }
  | { readonly kind: 'break' }
  | { readonly kind: 'element'; readonly tag: Tag; readonly children: readonly Node[] };

/** Lexing is more than linear for odd text: longer text is shown plain. */
export const MOST_MARKDOWN = 20_000;
const MOST_DEPTH = 16;
/** Marks by which a nested construct begins; thousands of them in a row are no text that somebody wrote. */
const HOSTILE = /[[\]*_>~`(<!&\\]{200}/;

const text = (value: string): Node => ({ kind: 'text', text: value });
const element = (tag: Tag, children: readonly Node[]): Node => ({ kind: 'element', tag, children });

function nodesOf(tokens: readonly Token[] | undefined, depth: number): readonly Node[] {
  if (!tokens) return [];
  if (depth > MOST_DEPTH) return tokens.map((token) => text(token.raw));
  return tokens.flatMap((token) => nodeOf(token, depth));
}

function nodeOf(token: Token, depth: number): readonly Node[] {
  const inner = (): readonly Node[] => nodesOf((token as Marked.Generic).tokens, depth + 1);
  switch (token.type) {
    case 'space':
    case 'def':
      return token.type === 'def' ? [element('p', [text(token.raw)])] : [];
    case 'paragraph':
      return [element('p', inner())];
    case 'heading':
      return [
        element(
          (token as Marked.Heading).depth <= 1 ? 'h3' : (token as Marked.Heading).depth === 2 ? 'h4' : 'h5',
          inner(),
        ),
      ];
    case 'blockquote':
    case 'em':
    case 'strong':
    case 'del':
      return [element(token.type, inner())];
    case 'list': {
      const list = token as Marked.List;
      return [
        element(
          list.ordered ? 'ol' : 'ul',
          list.items.map((item) =>
            element('li', [
              ...(item.task ? [text(item.checked === true ? '☑ ' : '☐ ')] : []),
              ...nodesOf(item.tokens, depth + 1),
            ]),
          ),
        ),
      ];
    }
    case 'code':
      return [
        {
          kind: 'code',
          text: (token as Marked.Code).text,
          isBlock: true,
          lang: (token as Marked.Code).lang ?? '',
        },
      ];
    case 'codespan':
      return [{ kind: 'code', text: (token as Marked.Codespan).text, isBlock: false, lang: '' }];
    case 'link': {
      const link = token as Marked.Link;
      return [{ kind: 'link', text: link.text, to: link.href }];
    }
    case 'image':
      return [
        { kind: 'link', text: `picture: ${(token as Marked.Image).text}`, to: (token as Marked.Image).href },
      ];
    case 'hr':
      return [{ kind: 'rule' }];
    case 'br':
      return [{ kind: 'break' }];
    case 'table': {
      const table = token as Marked.Table;
      return [
        element('table', [
          element(
            'tr',
            table.header.map((cell) => element('th', nodesOf(cell.tokens, depth + 1))),
          ),
          ...table.rows.map((row) =>
            element(
              'tr',
              row.map((cell) => element('td', nodesOf(cell.tokens, depth + 1))),
            ),
          ),
        ]),
      ];
    }
    case 'text':
      return (token as Marked.Text).tokens ? inner() : [text((token as Marked.Text).text)];
    case 'escape':
      return [text((token as Marked.Escape).text)];
    default:
      // HTML among them.
      return [text(token.raw)];
  }
}

/** The tree, or nothing where plain text serves better. */
export function parseMarkdown(source: string): readonly Node[] | undefined {
  if (source.length > MOST_MARKDOWN || HOSTILE.test(source)) return undefined;
  try {
    return nodesOf(marked.lexer(source, { gfm: true, breaks: true }), 0);
  } catch {
    return undefined;
  }
}
