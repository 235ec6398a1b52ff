// What pictures are painted for: the window and half of its width at each side. While the reader pans and zooms, the
// painted picture is moved and stretched by the compositor; it is painted anew only when the window leaves it.

import type { Span } from '../../kit/viewport';

export interface Frame {
  readonly span: Span;
  /** CSS pixels of the picture. */
  readonly width: number;
}

/** Picture width in windows. */
const WIDTHS = 2;
/** How far a picture may be stretched before it looks bad, during a gesture. */
const MOST_STRETCH = 2.5;

export const frameAround = ([from, to]: Span, width: number): Frame => {
  const room = ((to - from) * (WIDTHS - 1)) / 2;
  return { span: [from - room, to + room], width: width * WIDTHS };
};

/** Pixels of the window a pixel of the picture. */
export const stretchOf = (frame: Frame, span: Span, width: number): number =>
  ((frame.span[1] - frame.span[0]) / frame.width / (span[1] - span[0])) * width;

/** Whether a picture can stand for a window: in a gesture roughly, at rest exactly. */
export function serves(frame: Frame, span: Span, width: number, inGesture: boolean): boolean {
  if (frame.width !== width * WIDTHS) return false;
  const stretch = stretchOf(frame, span, width);
  if (inGesture ? stretch > MOST_STRETCH || stretch < 1 / MOST_STRETCH : Math.abs(stretch - 1) > 1e-6)
    return false;
  // At rest some room is left for the next gesture.
  const room = inGesture ? 0 : (span[1] - span[0]) * 0.2;
  return frame.span[0] <= span[0] - room && frame.span[1] >= span[1] + room;
}

/** Where in the picture a time is. */
export const frameX = (t: number, { span, width }: Frame): number =>
  ((t - span[0]) / (span[1] - span[0])) * width;

/** How a picture is moved and stretched so that it shows the window. */
export function transformOf(frame: Frame, span: Span, width: number): string {
  const stretch = stretchOf(frame, span, width);
  const left = -frameX(span[0], frame) * stretch;
  return `translateX(${left.toFixed(2)}px) scaleX(${stretch.toFixed(6)})`;
}
