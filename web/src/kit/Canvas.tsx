// A canvas that is sharp on every screen and is painted when what its picture depends on changes, at most once a frame.

import { createReaction, createSignal, onCleanup, onMount, type JSX } from 'solid-js';
import { isDark } from '../design/theme';

export interface Picture {
  readonly ctx: CanvasRenderingContext2D;
  /** CSS pixels: the context is scaled. */
  readonly width: number;
  readonly height: number;
  /** Device pixels a CSS pixel. */
  readonly ratio: number;
}

interface CanvasProps {
  /** Paints everything. Signals that it reads paint again. The canvas is cleared before. */
  readonly draw: (picture: Picture) => void;
  /** What it shows, for who cannot see it. */
  readonly label: string;
  readonly class?: string;
  /** CSS pixels; else the class says. */
  readonly height?: number;
  readonly focusable?: boolean;
  /** For `attachViewport` and pointer handlers. */
  readonly ref?: (canvas: HTMLCanvasElement) => void;
}

export function Canvas(props: CanvasProps): JSX.Element {
  let canvas!: HTMLCanvasElement;
  const [size, setSize] = createSignal({ width: 0, height: 0, ratio: devicePixelRatio }, { equals: false });
  onMount(() => {
    const observer = new ResizeObserver(() => {
      setSize({ width: canvas.clientWidth, height: canvas.clientHeight, ratio: devicePixelRatio });
    });
    observer.observe(canvas);
    onCleanup(() => observer.disconnect());
    const ctx = canvas.getContext('2d');
    let asked = 0;
    const track = createReaction(() => {
      if (asked === 0) asked = requestAnimationFrame(paint);
    });
    function paint(): void {
      asked = 0;
      track(() => {
        const { width, height, ratio } = size();
        isDark();
        if (!ctx || width === 0 || height === 0) return;
        const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
        if (canvas.width !== wide || canvas.height !== high) {
          canvas.width = wide;
          canvas.height = high;
        }
        ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
        ctx.clearRect(0, 0, width, height);
        props.draw({ ctx, width, height, ratio });
      });
    }
    paint();
    onCleanup(() => cancelAnimationFrame(asked));
  });
  return (
    <canvas
      ref={(element) => {
        canvas = element;
        props.ref?.(element);
      }}
      class={`k-canvas ${props.class ?? ''}`}
      role={props.focusable === true ? 'application' : 'img'}
      aria-label={props.label}
      tabIndex={props.focusable === true ? 0 : undefined}
      style={props.height === undefined ? {} : { height: `${props.height}px` }}
    />
  );
}
