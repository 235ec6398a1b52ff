// The axis of time that all pictures share.

import type { JSX } from 'solid-js';
import { color } from '../../design/theme';
import { Canvas, type Picture, type Span } from '../../kit';
import { frameX, type Frame } from './frame';
import { useCompute } from './state';
import { ticks, timeText } from './ticks';

const FONT = '11px system-ui, sans-serif';

export const xOf = (
  t: number,
  [from, to]: Span,
  plot: { readonly left: number; readonly width: number },
): number => plot.left + ((t - from) / (to - from)) * plot.width;

/** Faint lines at the marks, behind or above a picture. */
export function drawGrid({ ctx, height }: Picture, frame: Frame, origin: number | undefined): void {
  ctx.fillStyle = color('grid');
  for (const { t } of ticks(frame.span, frame.width, origin)) {
    ctx.fillRect(Math.round(frameX(t, frame)), 0, 1, height);
  }
}

export function TimeAxis(): JSX.Element {
  const state = useCompute();
  const draw = ({ ctx, width }: Picture): void => {
    const plot = state.plot();
    ctx.font = FONT;
    ctx.textBaseline = 'middle';
    ctx.fillStyle = color('axis');
    for (const { t, label } of ticks(state.span(), plot.width, state.origin())) {
      const x = Math.round(xOf(t, state.span(), plot));
      ctx.fillRect(x, 0, 1, 4);
      const half = ctx.measureText(label).width / 2;
      ctx.fillText(label, Math.min(Math.max(x - half, plot.left), width - 2 * half - 2), 12);
    }
    if (plot.left > 100) ctx.fillText(state.wall() ? 'wall clock' : 'since the start', 8, 12);
  };
  return (
    <Canvas
      label={`Time from ${timeText(state.settled()[0], state.origin())} to ${timeText(state.settled()[1], state.origin())}`}
      class="c-axis"
      height={20}
      draw={draw}
    />
  );
}
