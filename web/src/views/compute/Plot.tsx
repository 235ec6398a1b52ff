// One picture over the window of time: a canvas with a gutter at its left for names, zoomed and panned with all others.
// In the gutter the wheel scrolls the page and a drag chooses rows; on the plot Shift+drag chooses rows, or a time.

import { createSignal, onCleanup, Show, type JSX } from 'solid-js';
import { attachViewport, Canvas, type Picture, type Span } from '../../kit';
import { transformOf, type Frame } from './frame';
import { useCompute } from './state';

export interface Point {
  readonly t: number;
  /** Window pixels. */
  readonly x: number;
  readonly y: number;
  /** CSS pixels below the upper edge of the canvas. */
  readonly top: number;
  readonly isInGutter: boolean;
}

interface PlotProps {
  readonly label: string;
  readonly height: number;
  readonly class?: string;
  /** Paints the frame; the context begins at its left edge. */
  readonly draw: (picture: Picture, frame: Frame) => void;
  /** Paints the gutter. */
  readonly gutter: (picture: Picture) => void;
  /** The pointer is there, or with undefined gone. */
  readonly onPoint?: (point: Point | undefined) => void;
  readonly onClick?: (point: Point, event: PointerEvent) => void;
  /** Rows are chosen, from top to bottom in CSS pixels. */
  readonly onRows?: (from: number, to: number) => void;
  /** Keys that the window of time does not take. True: taken. */
  readonly onKey?: (event: KeyboardEvent) => boolean;
  /** Scrolled by dragging up and down. */
  readonly scroller?: () => HTMLElement | undefined;
  readonly children?: JSX.Element;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const DRAG_PIXELS = 4;

export function Plot(props: PlotProps): JSX.Element {
  const state = useCompute();
  const [brush, setBrush] = createSignal<Box>();
  const xAt = (t: number): number => {
    const [from, to] = state.span();
    return state.plot().left + ((t - from) / (to - from)) * state.plot().width;
  };

  /** The frame that the canvas shows now. */
  const [painted, setPainted] = createSignal<Frame>();
  const draw = (picture: Picture): void => {
    const frame = state.frame();
    props.draw(picture, frame);
    setPainted(frame);
  };
  const transform = (): string => {
    const frame = painted();
    return frame ? transformOf(frame, state.span(), state.plot().width) : 'none';
  };

  const attach = (canvas: HTMLElement): void => {
    const stop = new AbortController();
    const { signal } = stop;
    const pointOf = (event: MouseEvent): Point => {
      const box = canvas.getBoundingClientRect();
      const { left, width } = state.plot();
      const [from, to] = state.span();
      const share = (event.clientX - box.left - left) / Math.max(1, width);
      return {
        t: from + Math.min(Math.max(share, 0), 1) * (to - from),
        x: event.clientX,
        y: event.clientY,
        top: event.clientY - box.top,
        isInGutter: share < 0,
      };
    };
    let down:
      | {
          readonly x: number;
          readonly y: number;
          readonly scroll: number;
          readonly rows: boolean;
          moved: boolean;
        }
      | undefined;
    canvas.addEventListener(
      'wheel',
      (event) => {
        if (pointOf(event).isInGutter && !event.ctrlKey) event.stopImmediatePropagation();
      },
      { signal, passive: true },
    );
    canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        const point = pointOf(event);
        const rows = point.isInGutter || (event.shiftKey && props.onRows !== undefined);
        down = {
          x: event.clientX,
          y: event.clientY,
          scroll: props.scroller?.()?.scrollTop ?? 0,
          rows,
          moved: false,
        };
        if (!rows) return;
        event.stopImmediatePropagation();
        canvas.setPointerCapture(event.pointerId);
      },
      { signal },
    );
    canvas.addEventListener(
      'pointermove',
      (event) => {
        if (down) {
          const by = event.clientY - down.y;
          if (Math.max(Math.abs(by), Math.abs(event.clientX - down.x)) >= DRAG_PIXELS) down.moved = true;
          const scroller = props.scroller?.();
          if (down.rows && down.moved && props.onRows) {
            const top = canvas.getBoundingClientRect().top;
            setBrush({
              left: 0,
              width: canvas.clientWidth,
              top: Math.min(down.y, event.clientY) - top,
              height: Math.abs(by),
            });
          } else if (scroller && event.pointerType === 'mouse') scroller.scrollTop = down.scroll - by;
        }
        // The card would only be in the way of what is dragged.
        props.onPoint?.(down?.moved === true ? undefined : pointOf(event));
      },
      { signal },
    );
    const end = (event: PointerEvent): void => {
      const ended = down;
      down = undefined;
      setBrush(undefined);
      if (ended?.rows !== true || event.type === 'pointercancel') return;
      const point = pointOf(event);
      if (!ended.moved) props.onClick?.(point, event);
      else {
        const from = point.top - (event.clientY - ended.y);
        props.onRows?.(Math.min(from, point.top), Math.max(from, point.top));
      }
    };
    canvas.addEventListener('pointerup', end, { signal });
    canvas.addEventListener('pointercancel', end, { signal });
    canvas.addEventListener('pointerleave', () => props.onPoint?.(undefined), { signal });
    canvas.addEventListener(
      'keydown',
      (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (props.onKey?.(event) !== true) return;
        event.preventDefault();
        event.stopImmediatePropagation();
      },
      { signal },
    );
    const onBrush = (span: Span | undefined, done: boolean): void => {
      setBrush(
        span && !done
          ? { left: xAt(span[0]), width: xAt(span[1]) - xAt(span[0]), top: 0, height: canvas.clientHeight }
          : undefined,
      );
      if (span && done) state.zoomTo(span);
    };
    const detach = attachViewport(canvas, {
      span: state.span,
      limits: state.limits,
      onSpan: state.setSpan,
      onReset: state.reset,
      plot: state.plot,
      onClick: (event) => props.onClick?.(pointOf(event), event),
      onBrush,
    });
    onCleanup(() => {
      stop.abort();
      detach();
    });
  };

  return (
    <div
      class={`c-plot ${props.class ?? ''}`}
      ref={attach}
      role="application"
      aria-label={props.label}
      tabIndex={0}
      style={{ height: `${props.height}px` }}
    >
      <div class="c-gutter" aria-hidden="true" style={{ width: `${state.plot().left}px` }}>
        <Canvas label="" height={props.height} draw={props.gutter} />
      </div>
      <div class="c-clip" aria-hidden="true" style={{ left: `${state.plot().left}px` }}>
        <div class="c-content" style={{ width: `${state.frame().width}px`, transform: transform() }}>
          <Canvas label="" height={props.height} draw={draw} />
        </div>
      </div>
      {props.children}
      <Show when={brush()}>
        {(box) => (
          <div
            class="c-brush"
            style={{
              left: `${box().left}px`,
              top: `${box().top}px`,
              width: `${box().width}px`,
              height: `${box().height}px`,
            }}
          />
        )}
      </Show>
    </div>
  );
}
