// What is made only once it is near the window: a category of three hundred charts costs what is in sight of it.

import { createSignal, onCleanup, onMount, Show, type Accessor, type JSX } from 'solid-js';

/** How far outside of the window counts as near. */
const MARGIN = '400px';

const seen = new WeakMap<Element, (near: boolean) => void>();
let observer: IntersectionObserver | undefined;

function observe(element: Element, tell: (near: boolean) => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) seen.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: MARGIN },
  );
  seen.set(element, tell);
  observer.observe(element);
  return () => observer?.unobserve(element);
}

export function Seen(props: {
  readonly class?: string;
  /** Made the first time it is near, and kept; `near` says whether it still is. */
  readonly children: (near: Accessor<boolean>) => JSX.Element;
}): JSX.Element {
  const [near, setNear] = createSignal(false);
  const [made, setMade] = createSignal(false);
  let element!: HTMLDivElement;
  onMount(() =>
    onCleanup(
      observe(element, (is) => {
        setNear(is);
        if (is) setMade(true);
      }),
    ),
  );
  return (
    <div ref={element} class={props.class}>
      <Show when={made()}>{props.children(near)}</Show>
    </div>
  );
}
