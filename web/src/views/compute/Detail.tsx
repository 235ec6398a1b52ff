// The detail: the chosen lanes below each other on one axis of time. Only lanes on screen are asked for and painted;
// each keeps its picture, and a frame of panning moves those pictures. What is out of date is painted anew, a few
// lanes a frame, so that no frame is long.

import { createEffect, createMemo, createSignal, onCleanup, type JSX } from 'solid-js';
import { color, isDark } from '../../design/theme';
import { format, type Picture } from '../../kit';
import { frameX, type Frame } from './frame';
import { createLaneData, namesIn, phasesIn, seriesIn } from './laneData';
import { AREA_HEIGHT, AREA_TOP, BAND_TOP, LANE_HEIGHT, paintLane, type LaneContent } from './lanePaint';
import { engineAt, periodOf } from './lookup';
import { Plot, type Point } from './Plot';
import { withoutLanes } from './selector';
import type { LaneRef, Selected } from './selection';
import { useCompute } from './state';
import { drawGrid } from './TimeAxis';

/** Milliseconds of painting a frame; what is left comes in the next one. */
const BUDGET_MS = 7;
/** While the reader pans, answers that come one by one are not painted one by one. */
const DATA_PAUSE_MS = 220;
const MOST_HEIGHT = 560;
const FONT = 'system-ui, sans-serif';

interface Layer {
  readonly canvas: OffscreenCanvas;
  readonly ctx: OffscreenCanvasRenderingContext2D;
  frame: Frame;
  paintedAt: number;
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
    if (!lane) return;
    const answer = data.gpuOf(lane).find((piece) => piece.bucket <= 1)?.data;
    const period = answer && periodOf(seriesIn(answer, lane)?.ts ?? []);
    if (period !== undefined && period > 0) state.setPeriod(Math.min(60, Math.max(0.05, +period.toFixed(2))));
  });

  createEffect(() => state.setPeaks({ memory: data.memoryPeak(), engine: data.enginePeak() }));
  createEffect(() => {
    for (const lane of lanes().slice(...visible()))
      for (const piece of data.phasesOf(lane)) state.seePhases(namesIn(piece.data));
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
  const pending = { frame: 0, timer: 0 as unknown as ReturnType<typeof setTimeout> };
  onCleanup(() => {
    cancelAnimationFrame(pending.frame);
    clearTimeout(pending.timer);
  });

  /** The picture of a lane; undefined or an older one where there is no time to paint it in this frame. */
  const layerOf = (
    lane: LaneRef,
    frame: Frame,
    ratio: number,
    mayPaint: (last: number | undefined) => boolean,
  ): Layer | undefined => {
    const [gpu, phases] = [data.gpuOf(lane), data.phasesOf(lane)];
    const hasOverlay = state.overlay() !== '';
    // The edge of the data moves without being looked at: a lane with an open phase gets a new answer with it.
    const look = [
      ...[gpu, phases, frame, isDark(), ratio],
      state.memory() ? data.memoryPeak() : 0,
      ...(hasOverlay ? [data.engines(), data.enginePeak(), state.engine(), topology()] : []),
    ];
    let layer = layers.get(lane.index);
    if (layer && same(layer.look, look)) return layer;
    const isNewData = layer?.frame === frame;
    if (!mayPaint(isNewData ? layer?.paintedAt : undefined)) return layer;
    const [pixels, rows] = [Math.max(1, Math.ceil(frame.width * ratio)), Math.ceil(LANE_HEIGHT * ratio)];
    if (!layer) {
      const canvas = new OffscreenCanvas(pixels, rows);
      const ctx = canvas.getContext('2d');
      if (!ctx) return undefined;
      layer = { canvas, ctx, frame, look, paintedAt: 0 };
      layers.set(lane.index, layer);
    } else if (layer.canvas.width !== pixels || layer.canvas.height !== rows) {
      layer.canvas.width = pixels;
      layer.canvas.height = rows;
    }
    layer.ctx.setTransform(1, 0, 0, 1, 0, 0);
    layer.ctx.clearRect(0, 0, pixels, rows);
    layer.ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    const content: LaneContent = {
      ...{ lane, gpu, phases, edge: state.full()[1] },
      memoryPeak: state.memory() ? data.memoryPeak() : undefined,
      engines: hasOverlay ? data.engines() : [],
      engineOf: engineOf(lane),
      enginePeak: data.enginePeak(),
      gap: Math.max(5, 5 * state.period()),
    };
    paintLane(layer.ctx, content, frame.span, frame.width, ratio);
    layer.frame = frame;
    layer.paintedAt = performance.now();
    layer.look = look;
    return layer;
  };

  const draw = (picture: Picture, frame: Frame): void => {
    again();
    const { ctx, width, ratio } = picture;
    const offset = scrollTop();
    const started = performance.now();
    const tally = { painted: 0, refused: 0, early: 0 };
    const inGesture = state.inGesture();
    const mayPaint = (last: number | undefined): boolean => {
      if (inGesture && last !== undefined && started - last < DATA_PAUSE_MS) {
        tally.early += 1;
        return false;
      }
      const may = tally.painted === 0 || performance.now() - started < BUDGET_MS;
      if (may) tally.painted += 1;
      else tally.refused += 1;
      return may;
    };
    drawGrid(picture, frame, state.origin());
    ctx.imageSmoothingEnabled = false;
    const [from, to] = visible();
    lanes()
      .slice(from, to)
      .forEach((lane, at) => {
        const top = (from + at) * LANE_HEIGHT - offset;
        const layer = layerOf(lane, frame, ratio, mayPaint);
        ctx.fillStyle = color('border');
        ctx.fillRect(0, top + LANE_HEIGHT - 1, width, 1);
        if (!layer) return;
        const left = frameX(layer.frame.span[0], frame);
        ctx.drawImage(layer.canvas, left, top, frameX(layer.frame.span[1], frame) - left, LANE_HEIGHT);
      });
    if (tally.refused > 0 && pending.frame === 0) {
      pending.frame = requestAnimationFrame(() => {
        pending.frame = 0;
        setAgain((n) => n + 1);
      });
    }
    if (tally.early > 0) later();
    forget();
  };
  const later = (): void => {
    clearTimeout(pending.timer);
    pending.timer = setTimeout(() => setAgain((n) => n + 1), DATA_PAUSE_MS);
  };
  const gutter = ({ ctx, width }: Picture): void => {
    const [from, to] = visible();
    const offset = scrollTop();
    lanes()
      .slice(from, to)
      .forEach((lane, at) => drawGutter(ctx, lane, (from + at) * LANE_HEIGHT - offset, width));
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
  const drawGutter = (ctx: CanvasRenderingContext2D, lane: LaneRef, top: number, gutter: number): void => {
    const isNarrow = gutter < 100;
    ctx.fillStyle = color('border');
    ctx.fillRect(0, top + LANE_HEIGHT - 1, gutter, 1);
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
    const engine = known && engineAt(known, lane.node, lane.gpu, state.settled()[1]);
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
            gutter={gutter}
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
