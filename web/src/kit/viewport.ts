// A window on an axis that is zoomed and panned: the arithmetic, and the pointer and keys that drive it.

export type Span = readonly [number, number];

export interface Limits {
  /** The whole of what there is. */
  readonly full: Span;
  /** Narrowest and widest window. */
  readonly least: number;
  readonly most: number;
}

/** Keeps a window inside of what there is, and not too narrow or wide; its centre stays where it can. */
export function clamp([from, to]: Span, { full, least, most }: Limits): Span {
  const all = full[1] - full[0];
  const width = Math.min(Math.max(to - from, Math.min(least, all)), Math.min(most, all));
  let start = (from + to) / 2 - width / 2;
  start = Math.min(Math.max(start, full[0]), full[1] - width);
  return [start, start + width];
}

/** Zooms by a factor (below 1 is in) so that `anchor` stays under the pointer. */
export function zoomAt(span: Span, factor: number, anchor: number, limits: Limits): Span {
  const all = limits.full[1] - limits.full[0];
  const width = span[1] - span[0];
  const wanted = Math.min(Math.max(width * factor, Math.min(limits.least, all)), Math.min(limits.most, all));
  const share = width > 0 ? (anchor - span[0]) / width : 0.5;
  const start = anchor - share * wanted;
  return clamp([start, start + wanted], limits);
}

export const panBy = ([from, to]: Span, by: number, limits: Limits): Span =>
  clamp([from + by, to + by], limits);

/** The window to ask the server for: wider by `margin` of its width at each side, so that panning has data. */
export function withMargin([from, to]: Span, margin: number, full: Span, most: number): Span {
  const extra = Math.min((to - from) * margin, Math.max(0, (most - (to - from)) / 2));
  return [Math.max(full[0], from - extra), Math.min(full[1], to + extra)];
}

/** Whether a window that was asked for still covers one that is shown. */
export const covers = (asked: Span, shown: Span): boolean => asked[0] <= shown[0] && asked[1] >= shown[1];

export interface ViewportHandlers {
  readonly span: () => Span;
  readonly limits: () => Limits;
  /** A new window. `done` ends a gesture: the address can be written. */
  readonly onSpan: (span: Span, done: boolean) => void;
  /** Back to everything, by double click and `0`. */
  readonly onReset?: () => void;
  /** Left and right edge of the plot inside of the element, CSS pixels. */
  readonly plot: () => { readonly left: number; readonly width: number };
  /** A press that did not become a drag. */
  readonly onClick?: (event: PointerEvent) => void;
  /** With Shift: choosing a part instead of panning. In axis units; `done` at its end. */
  readonly onBrush?: (span: Span | undefined, done: boolean) => void;
}

const WHEEL_PER_PIXEL = 0.0016;
const CLICK_PIXELS = 4;
const WHEEL_END_MS = 160;

/** Wheel zooms at the pointer, drag pans, Shift+drag brushes, arrows pan, + and − zoom. Gives back its removal. */
export function attachViewport(element: HTMLElement, on: ViewportHandlers): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const unitAt = (clientX: number): number => {
    const { left, width } = on.plot();
    const [from, to] = on.span();
    const x = clientX - element.getBoundingClientRect().left - left;
    return from + (x / Math.max(1, width)) * (to - from);
  };
  const perPixel = (): number => (on.span()[1] - on.span()[0]) / Math.max(1, on.plot().width);

  let wheelEnd: ReturnType<typeof setTimeout> | undefined;
  element.addEventListener(
    'wheel',
    (event) => {
      // The page scrolls on plain vertical wheels only where the element says so with data-scroll.
      if (element.dataset.wheel === 'mod' && !event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 240 : 1;
      const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
      const next =
        Math.abs(dx) > Math.abs(dy) || event.shiftKey
          ? panBy(on.span(), (dx || dy) * perPixel(), on.limits())
          : zoomAt(on.span(), Math.exp(dy * WHEEL_PER_PIXEL), unitAt(event.clientX), on.limits());
      on.onSpan(next, false);
      clearTimeout(wheelEnd);
      wheelEnd = setTimeout(() => on.onSpan(on.span(), true), WHEEL_END_MS);
    },
    { signal, passive: false },
  );

  let drag: { readonly x: number; readonly span: Span; readonly brush: boolean; moved: boolean } | undefined;
  element.addEventListener(
    'pointerdown',
    (event) => {
      if (event.button !== 0) return;
      drag = {
        x: event.clientX,
        span: on.span(),
        brush: event.shiftKey && on.onBrush !== undefined,
        moved: false,
      };
      element.setPointerCapture(event.pointerId);
    },
    { signal },
  );
  element.addEventListener(
    'pointermove',
    (event) => {
      if (!drag) return;
      const by = event.clientX - drag.x;
      if (!drag.moved && Math.abs(by) < CLICK_PIXELS) return;
      drag.moved = true;
      if (drag.brush) on.onBrush?.(sorted(unitAt(drag.x), unitAt(event.clientX)), false);
      else on.onSpan(panBy(drag.span, -by * perPixel(), on.limits()), false);
    },
    { signal },
  );
  const end = (event: PointerEvent): void => {
    const ended = drag;
    drag = undefined;
    if (!ended) return;
    if (!ended.moved) on.onClick?.(event);
    else if (ended.brush) on.onBrush?.(sorted(unitAt(ended.x), unitAt(event.clientX)), true);
    else on.onSpan(on.span(), true);
  };
  element.addEventListener('pointerup', end, { signal });
  element.addEventListener(
    'pointercancel',
    () => {
      if (drag?.brush === true) on.onBrush?.(undefined, true);
      drag = undefined;
    },
    { signal },
  );
  element.addEventListener('dblclick', () => on.onReset?.(), { signal });
  element.addEventListener(
    'keydown',
    (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const span = on.span();
      const width = span[1] - span[0];
      const middle = (span[0] + span[1]) / 2;
      const far = event.shiftKey ? 0.5 : 0.1;
      const moves: Readonly<Record<string, () => Span>> = {
        ArrowLeft: () => panBy(span, -width * far, on.limits()),
        ArrowRight: () => panBy(span, width * far, on.limits()),
        '+': () => zoomAt(span, 0.7, middle, on.limits()),
        '=': () => zoomAt(span, 0.7, middle, on.limits()),
        '-': () => zoomAt(span, 1 / 0.7, middle, on.limits()),
      };
      const move = moves[event.key];
      if (move) on.onSpan(move(), true);
      else if (event.key === '0') on.onReset?.();
      else return;
      event.preventDefault();
    },
    { signal },
  );
  return () => {
    clearTimeout(wheelEnd);
    stop.abort();
  };
}

const sorted = (a: number, b: number): Span => (a < b ? [a, b] : [b, a]);
