import { describe, expect, it } from 'vitest';
import {
  countMatches,
  splitMarkup,
  splitTemplate,
  turnOf,
  turnsOfMessages,
  turnsOfText,
} from './conversation';

describe('splitMarkup', () => {
  it('takes thinking and tool calls out of raw text', () => {
    expect(
      splitMarkup(
        '<think>a\nb</think>Hello\n<tool_call>\n{"name":"f","arguments":{"x":1}}\n</tool_call> end',
      ),
    ).toEqual([
      { kind: 'thinking', text: 'a\nb' },
      { kind: 'text', text: 'Hello' },
      { kind: 'tool_call', name: 'f', args: '{\n  "x": 1\n}' },
      { kind: 'text', text: ' end' },
    ]);
  });

  it('takes an end without a beginning as thinking that the template opened', () => {
    expect(splitMarkup('hm\n</think>\n\n42')).toEqual([
      { kind: 'thinking', text: 'hm' },
      { kind: 'text', text: '42' },
    ]);
  });

  it('lets thinking that was cut last to the end', () => {
    expect(splitMarkup('<think>never done')).toEqual([
      { kind: 'thinking', text: 'never done', isOpen: true },
    ]);
  });

  it('keeps a tool call that is no JSON as it was written', () => {
    expect(splitMarkup('<tool_call>oops{</tool_call>')).toEqual([
      { kind: 'tool_call', name: '', args: 'oops{' },
    ]);
  });

  it('is done with two hundred thousand marks at once', () => {
    expect(splitMarkup('<think>'.repeat(200_000))).toHaveLength(1);
    expect(splitMarkup('<think></think>'.repeat(50_000))).toHaveLength(50_000);
    expect(splitMarkup('</think>'.repeat(200_000))).toHaveLength(1);
  });
});

describe('splitTemplate', () => {
  it('splits ChatML and drops the header that the response continues', () => {
    const turns = turnsOfText(
      '<|im_start|>system\nbe kind<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n',
      '<think>x</think>yes<|im_end|>',
    );
    expect(turns.map((turn) => [turn.role, turn.isPrompt, turn.parts.length])).toEqual([
      ['system', true, 1],
      ['user', true, 1],
      ['assistant', false, 2],
    ]);
  });

  it('leaves other text whole', () => {
    expect(splitTemplate('just text', 'assistant', false)).toEqual([
      { role: 'assistant', isPrompt: false, parts: [{ kind: 'text', text: 'just text' }] },
    ]);
  });
});

describe('turnOf', () => {
  it('never loads what a part names', () => {
    const turn = turnOf(
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      true,
    );
    expect(turn.parts).toEqual([{ kind: 'media', what: 'image', note: 'data URL, image/png, 3 B' }]);
  });

  it('takes anything', () => {
    for (const odd of [
      null,
      3,
      [],
      {},
      { content: 5 },
      { tool_calls: 'x' },
      { content: [null, [1]] },
      { tool_calls: [null, { function: 3 }] },
    ]) {
      expect(() => turnOf(odd, false)).not.toThrow();
    }
  });
});

describe('turnsOfMessages', () => {
  it('tells a prompt that the messages begin with once', () => {
    const prompt = [{ role: 'user', content: 'q' }];
    const turns = turnsOfMessages({ prompt, messages: [...prompt, { role: 'assistant', content: 'a' }] });
    expect(turns.map((turn) => turn.isPrompt)).toEqual([true, false]);
  });

  it('counts matches whatever their case', () => {
    expect(
      countMatches(turnsOfMessages({ prompt: 'Foo foo', messages: [{ role: 'a', content: 'bar' }] }), 'FOO'),
    ).toEqual([2, 0]);
  });
});
