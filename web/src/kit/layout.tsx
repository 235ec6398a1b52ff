// Panels, tabs, dialogs, and cards that follow the pointer.

import { createEffect, createSignal, For, onCleanup, Show, type JSX } from 'solid-js';
import { Portal } from 'solid-js/web';
import { IconButton } from './controls';
import { Icon } from './icons';

/** A titled part of a view. */
export function Panel(props: {
  readonly title: string;
  readonly tip?: string;
  readonly actions?: JSX.Element;
  readonly class?: string;
  readonly children: JSX.Element;
}): JSX.Element {
  return (
    <section class={`k-panel ${props.class ?? ''}`} aria-label={props.title}>
      <header class="k-panel-head">
        <h2 data-tip={props.tip}>{props.title}</h2>
        <div class="k-panel-actions">{props.actions}</div>
      </header>
      <div class="k-panel-body">{props.children}</div>
    </section>
  );
}

export interface TabSpec<T extends string> {
  readonly value: T;
  readonly label: string;
  readonly count?: string | undefined;
}

/** Tabs; the panel is the caller's and has `role="tabpanel"`. */
export function Tabs<T extends string>(props: {
  readonly label: string;
  readonly tabs: readonly TabSpec<T>[];
  readonly value: T;
  readonly onChange: (value: T) => void;
}): JSX.Element {
  let list: HTMLDivElement | undefined;
  const move = (event: KeyboardEvent): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    const at = props.tabs.findIndex((tab) => tab.value === props.value);
    const next = props.tabs[(at + by + props.tabs.length) % props.tabs.length];
    if (!next) return;
    props.onChange(next.value);
    list?.querySelector<HTMLElement>(`[data-value="${CSS.escape(next.value)}"]`)?.focus();
  };
  return (
    <div class="k-tabs" role="tablist" aria-label={props.label} ref={(el) => (list = el)} onKeyDown={move}>
      <For each={props.tabs}>
        {(tab) => (
          <button
            type="button"
            role="tab"
            class="k-tab"
            data-value={tab.value}
            aria-selected={tab.value === props.value}
            tabIndex={tab.value === props.value ? 0 : -1}
            onClick={() => props.onChange(tab.value)}
          >
            {tab.label}
            <Show when={tab.count}>{(n) => <span class="k-tab-count">{n()}</span>}</Show>
          </button>
        )}
      </For>
    </div>
  );
}

/** A modal dialog, or with `side` a drawer at the right. Escape and a click beside it close it. */
export function Dialog(props: {
  readonly title: string;
  readonly open: boolean;
  readonly onClose: () => void;
  readonly side?: boolean;
  readonly wide?: boolean;
  readonly children: JSX.Element;
}): JSX.Element {
  const [element, setElement] = createSignal<HTMLDialogElement>();
  createEffect(() => {
    const dialog = element();
    if (!dialog) return;
    if (props.open && !dialog.open) dialog.showModal();
    if (!props.open && dialog.open) dialog.close();
  });
  return (
    <dialog
      ref={setElement}
      class="k-dialog"
      classList={{ 'k-drawer': props.side === true, 'k-dialog-wide': props.wide === true }}
      aria-label={props.title}
      onClose={() => props.onClose()}
      onClick={(event) => {
        if (event.target === event.currentTarget) event.currentTarget.close();
      }}
    >
      <Show when={props.open}>
        <div class="k-dialog-frame">
          <header class="k-dialog-head">
            <h2>{props.title}</h2>
            <IconButton label="Close" hint="Esc" onClick={() => element()?.close()}>
              <Icon name="close" />
            </IconButton>
          </header>
          <div class="k-dialog-body">{props.children}</div>
        </div>
      </Show>
    </dialog>
  );
}

/** A card beside a point of the window, kept inside it; for what is under the pointer of a canvas. */
export function HoverCard(props: {
  readonly at: { readonly x: number; readonly y: number } | undefined;
  readonly children: JSX.Element;
}): JSX.Element {
  const [size, setSize] = createSignal({ width: 0, height: 0 });
  const watch = (element: HTMLElement): void => {
    const observer = new ResizeObserver(() => {
      setSize({ width: element.offsetWidth, height: element.offsetHeight });
    });
    observer.observe(element);
    onCleanup(() => observer.disconnect());
  };
  const GAP = 14;
  const place = (at: number, own: number, room: number): number => {
    const after = at + GAP;
    return after + own > room - 4 ? Math.max(4, at - GAP - own) : after;
  };
  return (
    <Show when={props.at}>
      {(at) => (
        // A modal dialog covers everything outside of it.
        <Portal mount={document.querySelector('dialog[open]') ?? document.body}>
          <div
            ref={watch}
            class="k-hover"
            role="status"
            style={{
              left: `${place(at().x, size().width, innerWidth)}px`,
              top: `${place(at().y, size().height, innerHeight)}px`,
            }}
          >
            {props.children}
          </div>
        </Portal>
      )}
    </Show>
  );
}
