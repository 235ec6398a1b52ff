// The carpet: a row a lane (or for the lifecycle a row a sample), time to the right. A click on a lane takes it into the
// detail or out of it, a brush takes in several.

import { createComputed, createEffect, createMemo, createSignal, Show, type JSX } from 'solid-js';
import { api, isSample, type Heatmap } from '../../api';
import { color } from '../../design/theme';
import { format, type Picture } from '../../kit';
import { cellAt, imageOf, magnitudeText, topOf } from './carpetPaint';
import { frameX, type Frame } from './frame';
import { createPieces, type Loaded } from './pieceQueries';
import { Plot, type Point } from './Plot';
import { toggleLane, withLanes } from './selector';
import type { LaneRef, Selected } from './selection';
import { useCompute } from './state';

const SAMPLES_HEIGHT = 256;
const LABEL_FONT = '11px system-ui, sans-serif';

/** Few lanes get room, many have to share. */
export const rowHeight = (lanes: number): number =>
  lanes <= 8 ? 22 : lanes <= 16 ? 16 : lanes <= 32 ? 12 : lanes <= 48 ? 9 : 7;

export function Carpet(props: { readonly selected: Selected }): JSX.Element {
  const state = useCompute();
  const lanes = (): readonly LaneRef[] =>
    (state.topology()?.lanes ?? []).map((lane) => ({ ...lane, roles: [] }));
  const ofSamples = (): boolean => state.metric() === 'lifecycle';
  const least = (): number => (state.metric() === 'phase' ? 0.05 : 2 * state.period());
  const tiled = state.piecesAt(least);
  const pieces = createMemo(() => {
    const whole = state.around();
    return ofSamples() ? (whole ? [whole] : []) : tiled();
  });
  const answers = createPieces<Heatmap>(
    () => pieces(),
    ({ t0, t1, buckets }) => api.heatmap(state.metric(), { t0, t1, x_buckets: buckets }),
    state.settledBefore,
  );
  const shown = createMemo((): readonly Loaded<Heatmap>[] =>
    answers.loaded().filter((piece) => piece.data.metric === state.metric()),
  );
  createComputed(() =>
    state.setTop(
      topOf(
        state.metric(),
        shown().map((piece) => piece.data),
      ),
    ),
  );
  const rows = (): number => (ofSamples() ? (shown().at(-1)?.data.rows.length ?? 0) : lanes().length);
  const high = (): number => (ofSamples() ? SAMPLES_HEIGHT / Math.max(1, rows()) : rowHeight(lanes().length));
  const height = (): number => (ofSamples() ? SAMPLES_HEIGHT : Math.max(1, lanes().length) * high());

  const [row, setRow] = createSignal<number>();
  const rowAt = (point: Point): number | undefined => {
    const at = Math.floor(point.top / high());
    return at >= 0 && at < rows() ? at : undefined;
  };
  const laneAt = (point: Point): LaneRef | undefined => {
    const at = rowAt(point);
    return at === undefined || ofSamples() ? undefined : lanes()[at];
  };

  const draw = ({ ctx, ratio }: Picture, frame: Frame): void => {
    const start = Math.max(0, frameX(state.full()[0], frame));
    const end = Math.min(frame.width, frameX(state.full()[1], frame));
    ctx.save();
    ctx.beginPath();
    ctx.rect(start, 0, Math.max(0, end - start), height());
    ctx.clip();
    ctx.fillStyle = color('surface-2');
    ctx.fillRect(start, 0, end - start, height());
    ctx.imageSmoothingEnabled = ofSamples() && high() < 1;
    for (const { data } of shown()) {
      const left = frameX(data.t0, frame);
      const right = frameX(data.t1, frame);
      if (right < start || left > end) continue;
      const image = imageOf(data, Math.round(high() * ratio), state.top());
      if (image) ctx.drawImage(image, left, 0, right - left, data.rows.length * high());
    }
    ctx.restore();
    if (!ofSamples()) drawSeams(ctx, frame.width);
  };

  const drawSeams = (ctx: CanvasRenderingContext2D, width: number): void => {
    const all = lanes();
    const size = high();
    ctx.fillStyle = color('surface');
    for (let at = 1; at < all.length; at += 1) {
      const isNode = all[at]?.node !== all[at - 1]?.node;
      if (size >= 12 || isNode) ctx.fillRect(0, at * size - (isNode ? 1 : 0.5), width, isNode ? 1.5 : 0.5);
    }
  };
  const gutter = ({ ctx, width }: Picture): void => {
    if (ofSamples()) drawSampleGutter(ctx, width);
    else drawLaneGutter(ctx, width);
  };

  const drawSampleGutter = (ctx: CanvasRenderingContext2D, gutter: number): void => {
    const map = shown().at(-1)?.data;
    ctx.font = LABEL_FONT;
    ctx.textBaseline = 'middle';
    ctx.fillStyle = color('text-2');
    const [some, all] = [map?.rows.length ?? 0, map?.rows_total ?? 0];
    ctx.fillText(gutter > 100 ? format.plural(some, 'sample') : format.count(some), 8, 12);
    ctx.fillStyle = color('text-3');
    if (all > some) ctx.fillText(`of ${format.count(all)}`, 8, 28);
  };

  const drawLaneGutter = (ctx: CanvasRenderingContext2D, gutter: number): void => {
    const all = lanes();
    const size = high();
    ctx.font = LABEL_FONT;
    ctx.textBaseline = 'middle';
    const byNode = size < 12;
    all.forEach((lane, at) => {
      const top = at * size;
      const isFirst = all[at - 1]?.node !== lane.node;
      if (props.selected.indices().has(lane.index)) {
        ctx.fillStyle = color('accent');
        ctx.fillRect(gutter - 5, top + 0.5, 3, size - 1);
      }
      if (byNode && !isFirst) return;
      ctx.fillStyle = color(isFirst ? 'text-2' : 'text-3');
      const middle = byNode ? top + Math.max(size / 2, 5) : top + size / 2;
      const name = byNode ? lane.node : isFirst && gutter > 100 ? lane.node : '';
      ctx.textAlign = 'left';
      if (name !== '') ctx.fillText(name, 8, middle, gutter - 40);
      ctx.textAlign = 'right';
      if (!byNode) ctx.fillText(gutter > 100 ? `GPU ${lane.gpu}` : `${lane.gpu}`, gutter - 10, middle);
      ctx.textAlign = 'left';
    });
  };

  const onPoint = (point: Point | undefined): void => {
    const at = point && rowAt(point);
    setRow(ofSamples() ? undefined : at);
    if (!point || at === undefined) {
      state.setCursor(undefined);
      return;
    }
    const map = shown().findLast((piece) => piece.t0 <= point.t && point.t < piece.t1)?.data;
    const cell = map && cellAt(map, at, point.t);
    const line = map?.rows[at];
    const { t, x, y } = point;
    if (line && isSample(line)) {
      const facts = [
        { name: 'group', value: format.cell(line.group_index) },
        { name: 'state', value: cell?.name ?? format.MISSING },
      ];
      state.setCursor({ t, x, y, title: `sample ${line.sample_index}`, facts });
    } else {
      const facts =
        cell?.value === undefined
          ? undefined
          : [{ name: 'carpet, greatest', value: magnitudeText(state.metric(), cell.value) }];
      state.setCursor({ t, x, y, lane: lanes()[at], facts });
    }
  };
  const onClick = (point: Point): void => {
    const lane = laneAt(point);
    if (!lane) return;
    const before = props.selected.isDefault() ? [] : props.selected.lanes().map((each) => each.index);
    state.setLanes(toggleLane(state.lanes(), lane.index, before));
  };
  const onRows = (from: number, to: number): void => {
    if (ofSamples()) return;
    const brushed = lanes().slice(Math.max(0, Math.floor(from / high())), Math.floor(to / high()) + 1);
    const added = brushed.map((lane) => lane.index);
    if (added.length > 0) state.setLanes(withLanes(state.lanes(), added));
  };
  const onKey = (event: KeyboardEvent): boolean => {
    if (ofSamples()) return false;
    const at = row();
    const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (move !== 0) {
      setRow(Math.min(Math.max((at ?? (move > 0 ? -1 : rows())) + move, 0), rows() - 1));
      return true;
    }
    if ((event.key !== 'Enter' && event.key !== ' ') || at === undefined) return false;
    onClick({ t: 0, x: 0, y: 0, top: (at + 0.5) * high(), isInGutter: true });
    return true;
  };
  createEffect(() => {
    // Another carpet has other rows.
    state.metric();
    setRow(undefined);
  });
  const said = (): string => {
    const lane = row() === undefined ? undefined : lanes()[row() ?? 0];
    return lane ? `${lane.node} GPU ${lane.gpu}` : '';
  };

  return (
    <Plot
      class="c-carpet"
      label={`Carpet of ${state.metric()}: ${format.plural(rows(), ofSamples() ? 'sample' : 'lane')} over time. Arrow up and down choose a lane, Enter takes it into the detail`}
      height={height()}
      draw={draw}
      gutter={gutter}
      onPoint={onPoint}
      onClick={onClick}
      {...(ofSamples() ? {} : { onRows })}
      onKey={onKey}
    >
      <Show when={row() !== undefined}>
        <div
          class="c-row"
          style={{ transform: `translateY(${(row() ?? 0) * high()}px)`, height: `${high()}px` }}
        />
      </Show>
      <span class="visually-hidden" aria-live="polite">
        {said()}
      </span>
    </Plot>
  );
}
