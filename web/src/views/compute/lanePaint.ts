// The picture of one lane of the detail: its band of phases, utilisation as an area, memory and an engine's value as
// lines. Painted into an image of its own, wider than the window, so that panning only moves it.

import type { EngineSeries, Gpu, Phases } from '../../api';
import { phaseColor, phaseFill, phaseStyle } from '../../design/phases';
import { color } from '../../design/theme';
import type { Span } from '../../kit/viewport';
import { linesOf, phasesIn, seriesIn } from './laneData';
import type { Loaded } from './pieceQueries';
import type { LaneRef } from './selection';

export const LANE_HEIGHT = 62;
export const BAND_TOP = 5;
export const BAND_HEIGHT = 15;
export const AREA_TOP = BAND_TOP + BAND_HEIGHT + 3;
export const AREA_HEIGHT = LANE_HEIGHT - AREA_TOP - 4;

export interface LaneContent {
  readonly lane: LaneRef;
  readonly gpu: readonly Loaded<Gpu>[];
  readonly phases: readonly Loaded<Phases>[];
  /** MiB at the upper edge; undefined: no line. */
  readonly memoryPeak: number | undefined;
  readonly engines: readonly Loaded<EngineSeries>[];
  /** Engine on this lane by time, for the overlay; undefined: no line. */
  readonly engineOf: ((t: number) => string | undefined) | undefined;
  readonly enginePeak: number;
  /** Newest time of the data: phases that reach it are still open. */
  readonly edge: number;
  /** Readings further apart than this leave a gap. */
  readonly gap: number;
}

type Context = OffscreenCanvasRenderingContext2D;

/** How near to the edge of the data a phase has to end to be an open one, in seconds. */
const OPEN_WITHIN_S = 0.002;

export const isOpen = (t1: number, edge: number): boolean => t1 >= edge - OPEN_WITHIN_S;

/** Paints a lane onto an empty context that is scaled to CSS pixels; `span` is what its `width` shows. */
export function paintLane(
  ctx: Context,
  content: LaneContent,
  span: Span,
  width: number,
  ratio: number,
): void {
  const perSecond = width / (span[1] - span[0]);
  const x = (t: number): number => (t - span[0]) * perSecond;
  paintPhases(ctx, content, x, width, ratio);
  ctx.fillStyle = color('grid');
  ctx.fillRect(0, AREA_TOP, width, 0.5);
  ctx.fillRect(0, AREA_TOP + AREA_HEIGHT, width, 0.5);
  // Pieces of another resolution stand for what is not there yet; the last of each time is the one to show.
  paintUtil(ctx, content, x);
  if (content.memoryPeak !== undefined) {
    ctx.strokeStyle = color('series-5');
    ctx.lineWidth = 1.25;
    for (const piece of current(content.gpu)) {
      const series = seriesIn(piece.data, content.lane);
      if (series) line(ctx, series.ts, series.mem_mb, x, content.memoryPeak, content.gap * 4);
    }
  }
  const { engineOf } = content;
  if (engineOf) paintEngine(ctx, content, engineOf, x);
}

/** The pieces without those that a later one covers. */
export function current<T>(pieces: readonly Loaded<T>[]): readonly Loaded<T>[] {
  const bucket = pieces.at(-1)?.bucket;
  const now = pieces.filter((piece) => piece.bucket === bucket);
  const old = pieces.filter(
    (piece) => piece.bucket !== bucket && !now.some((each) => each.t0 < piece.t1 && piece.t0 < each.t1),
  );
  return [...old, ...now].sort((a, b) => a.t0 - b.t0);
}

function paintPhases(
  ctx: Context,
  content: LaneContent,
  x: (t: number) => number,
  width: number,
  ratio: number,
): void {
  const target = ctx as unknown as CanvasRenderingContext2D;
  for (const idle of [true, false]) {
    for (const piece of content.phases) {
      for (const phase of phasesIn(piece.data, content.lane)) {
        if (phaseStyle(phase.name).isIdle !== idle) continue;
        const left = Math.max(-1, x(phase.t0));
        const right = Math.min(width + 1, x(phase.t1));
        if (right < 0 || left > width) continue;
        ctx.fillStyle = phaseFill(target, phase.name, ratio);
        ctx.fillRect(left, BAND_TOP, Math.max(0.75, right - left), BAND_HEIGHT);
        if (right - left > 3) {
          // A seam, so that two phases of one name do not run together.
          ctx.fillStyle = color('surface');
          ctx.fillRect(right - 0.5, BAND_TOP, 0.5, BAND_HEIGHT);
        }
        if (isOpen(phase.t1, content.edge)) paintOpenEnd(ctx, right, phaseColor(phase.name));
      }
    }
  }
}

/** A phase that still goes on ends in an arrow. */
function paintOpenEnd(ctx: Context, right: number, fill: string): void {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.moveTo(right, BAND_TOP);
  ctx.lineTo(right + 6, BAND_TOP + BAND_HEIGHT / 2);
  ctx.lineTo(right, BAND_TOP + BAND_HEIGHT);
  ctx.fill();
}

function paintUtil(ctx: Context, content: LaneContent, x: (t: number) => number): void {
  const floor = AREA_TOP + AREA_HEIGHT;
  const y = (percent: number): number => floor - (Math.min(Math.max(percent, 0), 100) / 100) * AREA_HEIGHT;
  const area = new Path2D();
  const edge = new Path2D();
  let before: number | undefined;
  let lastX = 0;
  const lift = (): void => {
    if (before !== undefined) area.lineTo(lastX, floor);
    before = undefined;
  };
  for (const piece of current(content.gpu)) {
    const series = seriesIn(piece.data, content.lane);
    if (!series) continue;
    for (let at = 0; at < series.ts.length; at += 1) {
      const t = series.ts[at] ?? 0;
      const value = series.util[at];
      if (value === null || value === undefined) {
        lift();
        continue;
      }
      const px = x(t);
      const py = y(value);
      if (before !== undefined && t - before > Math.max(content.gap, piece.bucket * 2.5)) lift();
      if (before === undefined) {
        area.moveTo(px, floor);
        edge.moveTo(px, py);
      } else edge.lineTo(px, py);
      area.lineTo(px, py);
      before = t;
      lastX = px;
    }
  }
  lift();
  ctx.fillStyle = color('series-3');
  ctx.globalAlpha = 0.3;
  ctx.fill(area);
  ctx.globalAlpha = 1;
  ctx.strokeStyle = color('series-3');
  ctx.lineWidth = 1;
  ctx.lineJoin = 'round';
  ctx.stroke(edge);
}

function line(
  ctx: Context,
  ts: readonly number[],
  values: readonly (number | null)[],
  x: (t: number) => number,
  peak: number,
  gap: number,
): void {
  const floor = AREA_TOP + AREA_HEIGHT;
  let before: number | undefined;
  ctx.beginPath();
  for (let at = 0; at < ts.length; at += 1) {
    const t = ts[at] ?? 0;
    const value = values[at];
    if (value === null || value === undefined) {
      before = undefined;
      continue;
    }
    const py = floor - (Math.min(value, peak) / peak) * AREA_HEIGHT;
    if (before === undefined || t - before > gap) ctx.moveTo(x(t), py);
    else ctx.lineTo(x(t), py);
    before = t;
  }
  ctx.stroke();
}

function paintEngine(
  ctx: Context,
  content: LaneContent,
  engineOf: (t: number) => string | undefined,
  x: (t: number) => number,
): void {
  ctx.lineWidth = 1;
  ctx.strokeStyle = color('text');
  for (const piece of current(content.engines)) {
    const addr = engineOf((piece.t0 + Math.min(piece.t1, content.edge)) / 2);
    for (const { ts, value } of linesOf(piece.data, addr)) {
      line(ctx, ts, value, x, content.enginePeak, Math.max(60, piece.bucket * 8));
    }
  }
}
