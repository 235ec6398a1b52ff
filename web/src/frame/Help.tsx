// `?`: every key that can be pressed now.

import { For, type JSX } from 'solid-js';
import { Dialog } from '../kit';
import { keyGroups, type KeyGroup } from '../state/keys';

const SIGNS: Readonly<Record<string, string>> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
  'Mod+k': navigator.userAgent.includes('Mac') ? '⌘K' : 'Ctrl+K',
};

/** Groups of one title are one, in the order they came. */
function merged(groups: readonly KeyGroup[]): readonly KeyGroup[] {
  const byTitle = new Map<string, KeyGroup>();
  for (const group of groups) {
    const known = byTitle.get(group.title);
    byTitle.set(group.title, known ? { ...known, bindings: [...known.bindings, ...group.bindings] } : group);
  }
  return [...byTitle.values()];
}

export function Help(props: { readonly open: boolean; readonly onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" open={props.open} onClose={props.onClose}>
      <div class="f-help">
        <For each={merged(keyGroups())}>
          {(group) => (
            <section>
              <h3>{group.title}</h3>
              <dl>
                <For each={group.bindings}>
                  {(binding) => (
                    <div>
                      <dt>
                        <For each={binding.keys}>{(key) => <kbd>{SIGNS[key] ?? key}</kbd>}</For>
                      </dt>
                      <dd>{binding.what}</dd>
                    </div>
                  )}
                </For>
              </dl>
            </section>
          )}
        </For>
      </div>
    </Dialog>
  );
}
