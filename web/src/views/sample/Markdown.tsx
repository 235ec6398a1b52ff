// Text from data on the page: as Markdown where that can be done safely, else as it is. Nothing here makes markup of
// data: elements are the few below, everything else is a text node.

import { createMemo, createSignal, For, Match, Show, Switch, type JSX } from 'solid-js';
import { Dynamic } from 'solid-js/web';
import { Button, format } from '../../kit';
import { parseMarkdown, type Node } from './markdown';
import { cut, pieces, visible } from './visible';

/** Characters that are shown of a text before somebody asks for all. */
const FIRST = 12_000;
/** Characters a block of plain text; the browser lays out those in sight. */
const PIECE = 4000;

export function Text(props: {
  readonly text: string;
  readonly isMarkdown: boolean;
  readonly mono?: boolean;
  readonly open?: boolean;
}): JSX.Element {
  const [all, setAll] = createSignal(false);
  const shown = createMemo(() => visible(all() || props.open === true ? props.text : cut(props.text, FIRST)));
  const tree = createMemo(() =>
    props.isMarkdown && props.mono !== true ? parseMarkdown(shown()) : undefined,
  );
  return (
    <>
      <Show
        when={tree()}
        fallback={
          <div class="s-plain" classList={{ mono: props.mono === true }} dir="auto">
            <For each={pieces(shown(), PIECE)}>{(piece) => <div class="s-piece">{piece}</div>}</For>
          </div>
        }
      >
        {(nodes) => (
          <div class="s-markdown" dir="auto">
            <Nodes nodes={nodes()} />
          </div>
        )}
      </Show>
      <Show when={props.text.length > FIRST && !all() && props.open !== true}>
        <Button class="s-all" onClick={() => setAll(true)}>
          Show all {format.count(props.text.length)} characters
        </Button>
      </Show>
    </>
  );
}

function Nodes(props: { readonly nodes: readonly Node[] }): JSX.Element {
  return (
    <For each={props.nodes}>
      {(node) => (
        <Switch>
          <Match when={node.kind === 'text' && node}>{(own) => <>{own().text}</>}</Match>
          <Match when={node.kind === 'code' && node}>
            {(own) => (
              <Show when={own().isBlock} fallback={<code>{own().text}</code>}>
                <pre class="s-code" tabIndex={0} data-lang={own().lang}>
                  <code>{own().text}</code>
                </pre>
              </Show>
            )}
          </Match>
          <Match when={node.kind === 'link' && node}>
            {(own) => (
              <span class="s-link" data-tip={`Not followed: ${own().to.slice(0, 300)}`}>
                {own().text}
              </span>
            )}
          </Match>
          <Match when={node.kind === 'rule'}>
            <hr />
          </Match>
          <Match when={node.kind === 'break'}>
            <br />
          </Match>
          <Match when={node.kind === 'element' && node}>
            {(own) => (
              <Dynamic component={own().tag}>
                <Nodes nodes={own().children} />
              </Dynamic>
            )}
          </Match>
        </Switch>
      )}
    </For>
  );
}
