// The engines of the sglang charts: on and off, one alone, ranks apart.

import { createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { seriesToken } from '../../design/phases';
import { Button, Checkbox, SearchField } from '../../kit';
import { MANY_ENGINES } from './engines';
import type { MetricsState } from './state';

/** Of a thousand engines the list is filtered. */
const MOST_LISTED = 64;

export function Legend(props: {
  readonly engines: readonly string[];
  readonly state: MetricsState;
}): JSX.Element {
  const [text, setText] = createSignal('');
  const off = createMemo(() => new Set(props.state.off()));
  const found = createMemo(() => props.engines.filter((engine) => engine.includes(text().trim())));
  const isMany = (): boolean => props.engines.length - off().size > MANY_ENGINES;
  const toggle = (engine: string, alone: boolean): void => {
    const others = props.engines.filter((each) => each !== engine);
    if (alone) {
      const isAlone = !off().has(engine) && others.every((each) => off().has(each));
      props.state.setOff(isAlone ? [] : others);
    } else {
      props.state.setOff(
        off().has(engine)
          ? props.state.off().filter((each) => each !== engine)
          : [...props.state.off(), engine],
      );
    }
  };
  return (
    <Show when={props.engines.length > 0}>
      <section class="m-legend" aria-label="Engines">
        <Show when={isMany()}>
          <span class="m-key">
            <i class="m-swatch m-of-mean" /> mean
          </span>
          <span class="m-key">
            <i class="m-swatch m-of-worst" /> worst engine
          </span>
        </Show>
        <Show when={props.engines.length > MANY_ENGINES}>
          <SearchField label="Filter engines" value={text()} onInput={setText} />
        </Show>
        <div class="m-engines" role="group" aria-label="Show engines">
          <For each={found().slice(0, MOST_LISTED)}>
            {(engine) => (
              <button
                type="button"
                class="m-engine"
                aria-pressed={!off().has(engine)}
                data-tip="Click: on or off. Shift+click: this one alone."
                onClick={(event) => toggle(engine, event.shiftKey)}
              >
                <i
                  class="m-swatch"
                  style={{
                    background: isMany()
                      ? 'var(--text-3)'
                      : `var(--${seriesToken(props.engines.indexOf(engine))})`,
                  }}
                />
                {engine}
              </button>
            )}
          </For>
          <Show when={found().length > MOST_LISTED}>
            <span class="k-muted">and {found().length - MOST_LISTED} more</span>
          </Show>
        </div>
        <Show when={off().size > 0}>
          <Button look="quiet" onClick={() => props.state.setOff([])}>
            All on
          </Button>
        </Show>
        <Checkbox
          label="split by dp rank"
          checked={props.state.perRank()}
          onChange={(apart) => props.state.setPerRank(apart)}
          tip="Data-parallel ranks of an engine as lines of their own. Else their values are added, or averaged where a sum means nothing."
        />
      </section>
    </Show>
  );
}
