// The detail: the chosen lanes below each other on one axis of time. Only lanes on screen are asked for and painted;
// each keeps its picture, and a frame of panning moves those pictures. What is out of date is painted anew, a few
// lanes a frame, so that no frame is long.

import { createEffect, createMemo, createSignal, onCleanup, type JSX } from 'solid-js';
import { color, isDark } from '../../design/theme';
import { format, type Picture, type Span } from '../../kit';
import { createLaneData, phasesIn, seriesIn } from './laneData';
import { AREA_HEIGHT, AREA_TOP, BAND_TOP, LANE_HEIGHT, paintLane, type LaneContent } from './lanePaint';
import { engineAt, periodOf } from './lookup';
import { Plot, type Point } from './Plot';
import { withoutLanes } from './selector';
import type { LaneRef, Selected } from './selection';
import { useCompute } from './state';
import { drawGrid, xOf } from './TimeAxis';

/** A picture reaches this far beyond the window at each side. */
const MARGIN = 0.5;
/** Milliseconds of painting a frame; what is left comes in the next one. */
const BUDGET_MS = 7;
const MOST_HEIGHT = 560;
const FONT = 'system-ui, sans-serif';

interface Layer {
  readonly canvas: OffscreenCanvas;
  readonly ctx: OffscreenCanvasRenderingContext2D;
  span: Span;
  width: number;
  look: readonly unknown[];
}

const same = (a: readonly unknown[], b: readonly unknown[]): boolean =>
  a.length === b.length && a.every((each, at) => each === b[at]);

export function Detail(props: { readonly selected: Selected }): JSX.Element {
  const state = useCompute();
  const lanes = (): readonly LaneRef[] => props.selected.lanes();
  const [scrollTop, setScrollTop] = createSignal(0);
  const [scroller, setScroller] = createSignal<HTMLDivElement>();
  const total = (): number => lanes().length * LANE_HEIGHT;
  const height = (): number => Math.min(Math.max(total(), LANE_HEIGHT), MOST_HEIGHT);
  const visible = createMemo(
    (): readonly [number, number] => [
      Math.max(0, Math.floor(scrollTop() / LANE_HEIGHT)),
      Math.min(lanes().length, Math.ceil((scrollTop() + height()) / LANE_HEIGHT)),
    ],
    undefined,
    { equals: (a, b) => a[0] === b[0] && a[1] === b[1] },
  );
  const data = createLaneData(state, lanes, () => visible());
  const topology = state.topology;

  createEffect(() => {
    const lane = lanes()[0];
    const series = lane && data.gpuOf(lane).find((piece) => piece.bucket <= 1)?.data;
    const period = series && lane && periodOf(seriesIn(series, lane)?.ts ?? []);
    if (period !== undefined && period > 0) state.setPeriod(Math.min(60, Math.max(0.05, +period.toFixed(2))));
  });

  const engineOf = (lane: LaneRef): LaneContent['engineOf'] => {
    const chosen = state.engine();
    if (state.overlay() === '') return undefined;
    if (chosen !== '') return () => chosen;
    const known = topology();
    return (t) => known && engineAt(known, lane.node, lane.gpu, t)?.addr;
  };

  const layers = new Map<number, Layer>();
  const [again, setAgain] = createSignal(0);
  let asked = 0;
  onCleanup(() => cancelAnimationFrame(asked));

  /** The picture of a lane for a window; undefined where there is none yet and no time to paint one. */
  const layerOf = (
    lane: LaneRef,
    ratio: number,
    mayPaint: () => boolean,
  ): { layer: Layer | undefined; isStale: boolean } => {
    const span = state.span();
    const width = state.plot().width;
    const scale = width / (span[1] - span[0]);
    const [gpu, phases] = [data.gpuOf(lane), data.phasesOf(lane)];
    const hasOverlay = state.overlay() !== '';
    const edge = state.full()[1];
    // The edge matters to lanes whose newest phase may be open, and those get new answers with it.
    const look = [
      gpu,
      phases,
      isDark(),
      ratio,
      state.memory() ? data.memoryPeak() : 0,
      hasOverlay ? data.engines() : 0,
      hasOverlay ? data.enginePeak() : 0,
      state.engine(),
      topology(),
    ];
    let layer = layers.get(lane.index);
    const isSharp =
      layer !== undefined &&
      Math.abs(layer.width / (layer.span[1] - layer.span[0]) / scale - 1) < (state.gesture() ? 0.6 : 1e-6);
    const isWide =
      layer !== undefined &&
      layer.span[0] <= Math.max(span[0], state.full()[0]) &&
      layer.span[1] >= Math.min(span[1], edge);
    if (layer && isSharp && isWide && same(layer.look, look)) return { layer, isStale: false };
    if (!mayPaint()) return { layer, isStale: true };
    const room = (span[1] - span[0]) * MARGIN;
    const around: Span = [
      Math.max(span[0] - room, state.full()[0] - room / 8),
      Math.min(span[1] + room, edge + room / 8),
    ];
    const wide = (around[1] - around[0]) * scale;
    const [pixels, rows] = [Math.max(1, Math.ceil(wide * ratio)), Math.ceil(LANE_HEIGHT * ratio)];
    if (!layer) {
      const canvas = new OffscreenCanvas(pixels, rows);
      const ctx = canvas.getContext('2d');
      if (!ctx) return { layer: undefined, isStale: false };
      layer = { canvas, ctx, span: around, width: wide, look };
      layers.set(lane.index, layer);
    } else if (layer.canvas.width !== pixels || layer.canvas.height !== rows) {
      layer.canvas.width = pixels;
      layer.canvas.height = rows;
    }
    layer.ctx.setTransform(1, 0, 0, 1, 0, 0);
    layer.ctx.clearRect(0, 0, pixels, rows);
    layer.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const content: LaneContent = {
      ...{ lane, gpu, phases, edge },
      memoryPeak: state.memory() ? data.memoryPeak() : undefined,
      engines: hasOverlay ? data.engines() : [],
      engineOf: engineOf(lane),
      enginePeak: data.enginePeak(),
      gap: Math.max(5, 5 * state.period()),
    };
    paintLane(layer.ctx, content, around, wide, ratio);
    layer.span = around;
    layer.width = wide;
    layer.look = look;
    return { layer, isStale: false };
  };

  const draw = (picture: Picture): void => {
    again();
    const { ctx, width, ratio } = picture;
    const plot = state.plot();
    const span = state.span();
    const offset = scrollTop();
    const started = performance.now();
    let painted = 0;
    let isBehind = false;
    const mayPaint = (): boolean => {
      const may = painted === 0 || performance.now() - started < BUDGET_MS;
      if (may) painted += 1;
      return may;
    };
    drawGrid(picture, state);
    ctx.save();
    ctx.beginPath();
    ctx.rect(plot.left, 0, width - plot.left, height());
    ctx.clip();
    ctx.imageSmoothingEnabled = false;
    const [from, to] = visible();
    const shown = lanes().slice(from, to);
    shown.forEach((lane, at) => {
      const top = (from + at) * LANE_HEIGHT - offset;
      const { layer, isStale } = layerOf(lane, ratio, mayPaint);
      isBehind ||= isStale;
      if (!layer) return;
      const left = xOf(layer.span[0], span, plot);
      const right = xOf(layer.span[1], span, plot);
      ctx.drawImage(layer.canvas, left, top, right - left, LANE_HEIGHT);
    });
    ctx.restore();
    shown.forEach((lane, at) => drawGutter(ctx, lane, (from + at) * LANE_HEIGHT - offset, width));
    if (isBehind && asked === 0) {
      asked = requestAnimationFrame(() => {
        asked = 0;
        setAgain((n) => n + 1);
      });
    }
    forget();
  };

  /** Pictures of lanes that are far away are given up. */
  const forget = (): void => {
    if (layers.size <= 48) return;
    const [from, to] = visible();
    const near = new Set(
      lanes()
        .slice(Math.max(0, from - 8), to + 8)
        .map((lane) => lane.index),
    );
    for (const index of layers.keys()) if (!near.has(index)) layers.delete(index);
  };

  const rankOf = (lane: LaneRef): number | undefined => {
    for (const piece of data.phasesOf(lane))
      for (const phase of phasesIn(piece.data, lane)) if (phase.rank >= 0) return phase.rank;
    return undefined;
  };
  const drawGutter = (ctx: CanvasRenderingContext2D, lane: LaneRef, top: number, width: number): void => {
    const gutter = state.plot().left;
    const isNarrow = gutter < 100;
    ctx.fillStyle = color('border');
    ctx.fillRect(0, top + LANE_HEIGHT - 1, width, 1);
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    ctx.fillStyle = color('text');
    ctx.font = `600 11px ${FONT}`;
    ctx.fillText(
      isNarrow ? `g:${lane.index}` : `${lane.node} · ${lane.gpu}`,
      8,
      top + BAND_TOP + 8,
      gutter - 14,
    );
    ctx.font = `11px ${FONT}`;
    ctx.fillStyle = color('text-3');
    const rank = rankOf(lane);
    const known = topology();
    const engine = known && engineAt(known, lane.node, lane.gpu, state.span()[1]);
    const second = [
      rank === undefined ? '' : `rank ${rank}`,
      engine ? engineName(engine.engine_rank, engine.addr) : '',
    ]
      .filter((part) => part !== '')
      .join(' · ');
    if (second !== '')
      ctx.fillText(isNarrow ? `r${rank ?? '–'}` : second, 8, top + BAND_TOP + 24, gutter - 40);
    ctx.textAlign = 'right';
    ctx.fillText('100', gutter - 6, top + AREA_TOP + 5);
    ctx.fillText('0 %', gutter - 6, top + AREA_TOP + AREA_HEIGHT - 4);
    ctx.textAlign = 'left';
  };

  const laneAt = (point: Point): LaneRef | undefined =>
    lanes()[Math.floor((point.top + scrollTop()) / LANE_HEIGHT)];
  const onPoint = (point: Point | undefined): void => {
    const lane = point && laneAt(point);
    state.setCursor(point && lane && { t: point.t, x: point.x, y: point.y, lane });
  };
  const onClick = (point: Point): void => {
    const lane = laneAt(point);
    if (!point.isInGutter || !lane) return;
    const left = withoutLanes(
      props.selected.isDefault() ? '' : state.lanes(),
      new Set([lane.index]),
      lanes().map((each) => each.index),
    );
    if (left !== '') state.setLanes(left);
  };

  return (
    <div
      class="c-detail-scroll"
      ref={setScroller}
      style={{ height: `${height()}px` }}
      onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
    >
      <div style={{ height: `${Math.max(total(), height())}px` }}>
        <div class="c-detail-sticky">
          <Plot
            class="c-detail"
            label={`Detail of ${format.plural(lanes().length, 'lane')}: phases, utilization${state.memory() ? ', memory' : ''}`}
            height={height()}
            draw={draw}
            onPoint={onPoint}
            onClick={onClick}
            scroller={scroller}
            onKey={(event) => {
              const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
              if (by !== 0) scroller()?.scrollBy({ top: by * LANE_HEIGHT });
              return by !== 0;
            }}
          />
        </div>
      </div>
    </div>
  );
}

export const engineName = (rank: number | null, addr: string): string =>
  rank === null ? addr.replace(/^https?:\/\//, '') : `engine ${rank}`;
