// Keys: a view says which it takes while it is shown; the frame listens and lists them under `?`.

import { createSignal, onCleanup } from 'solid-js';

export interface KeyBinding {
  /** As `KeyboardEvent.key`, with `Shift+`, `Alt+` or `Mod+` (Ctrl or ⌘) before it where needed; several mean the same. */
  readonly keys: readonly string[];
  /** What it does, for the help. */
  readonly what: string;
  /** Absent for what a component listens to itself and only wants listed. */
  readonly run?: (event: KeyboardEvent) => void;
}

export interface KeyGroup {
  readonly title: string;
  readonly bindings: readonly KeyBinding[];
}

const [groups, setGroups] = createSignal<readonly KeyGroup[]>([]);
/** What can be pressed now. */
export const keyGroups = groups;

/** Takes these keys for as long as the owner lives. The newest comer goes first. */
export function useKeys(title: string, bindings: readonly KeyBinding[]): void {
  const group: KeyGroup = { title, bindings };
  setGroups((all) => [...all, group]);
  onCleanup(() => setGroups((all) => all.filter((each) => each !== group)));
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

export function keyName(event: KeyboardEvent): string {
  let name = event.key === ' ' ? 'Space' : event.key;
  // `?` is Shift and something on every keyboard: only named keys and letters carry their Shift.
  if (event.shiftKey && (name.length > 1 || /[a-z]/i.test(name))) {
    name = `Shift+${name.length === 1 ? name.toLowerCase() : name}`;
  }
  if (event.altKey) name = `Alt+${name}`;
  if (event.ctrlKey || event.metaKey) name = `Mod+${name}`;
  return name;
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const name = keyName(event);
  if (isTyping(event.target) && !name.startsWith('Mod+')) return;
  // A dialog that is open keeps its keys.
  if (document.querySelector('dialog[open]')) return;
  for (const group of groups().toReversed()) {
    const binding = group.bindings.find((each) => each.run && each.keys.includes(name));
    if (binding?.run) {
      event.preventDefault();
      binding.run(event);
      return;
    }
  }
}

/** Called once by the frame. */
export const listenToKeys = (): void => document.addEventListener('keydown', onKey);
