// The strip of the request lifecycle: how many requests were queued, generating or waiting for a tool, over time.

import { createMemo, Show, type JSX } from 'solid-js';
import { api, type Heatmap } from '../../api';
import { color, isDark } from '../../design/theme';
import { format, type Picture } from '../../kit';
import { LIFECYCLE, lifecycleCounts } from './carpetPaint';
import { niceAbove } from './laneData';
import { frameX, type Frame } from './frame';
import { createPieces } from './pieceQueries';
import { Plot, type Point } from './Plot';
import { useCompute, type Fact } from './state';
import { drawGrid } from './TimeAxis';

const HEIGHT = 44;
const WIDE = 2;

interface Image {
  readonly canvas: OffscreenCanvas;
  readonly look: string;
}
const images = new WeakMap<Heatmap, Image>();

function imageOf(map: Heatmap, peak: number, height: number): OffscreenCanvas | undefined {
  const look = `${isDark()} ${peak} ${height}`;
  const known = images.get(map);
  if (known?.look === look) return known.canvas;
  const canvas = new OffscreenCanvas(map.x_buckets * WIDE, height);
  const ctx = canvas.getContext('2d');
  if (!ctx) return undefined;
  const counts = lifecycleCounts(map);
  // Work at the bottom, what waits on it.
  const order = [1, 2, 0];
  const below = new Float64Array(map.x_buckets);
  for (const which of order) {
    ctx.fillStyle = color(LIFECYCLE[which]?.token ?? 'phase-unknown');
    counts[which]?.forEach((count, at) => {
      if (count === 0) return;
      const from = below[at] ?? 0;
      below[at] = from + count;
      const bottom = height - (from / peak) * height;
      const top = height - ((from + count) / peak) * height;
      ctx.fillRect(at * WIDE, top, WIDE, bottom - top);
    });
  }
  images.set(map, { canvas, look });
  return canvas;
}

export function Lifecycle(): JSX.Element {
  const state = useCompute();
  const pieces = state.piecesAt(() => 0.05);
  const answers = createPieces<Heatmap>(
    () => pieces(),
    ({ t0, t1, buckets }) => api.heatmap('lifecycle', { t0, t1, x_buckets: buckets }),
    state.settledBefore,
  );
  const maps = createMemo(() => answers.loaded().map((piece) => piece.data));
  const hasAny = createMemo((before: boolean) => before || maps().some((map) => map.rows.length > 0), false);
  const peak = createMemo(() => {
    let most = 0;
    for (const map of maps()) {
      const counts = lifecycleCounts(map);
      for (let at = 0; at < map.x_buckets; at += 1) {
        let sum = 0;
        for (const list of counts) sum += list[at] ?? 0;
        most = Math.max(most, sum);
      }
    }
    return niceAbove(most);
  });

  const draw = (picture: Picture, frame: Frame): void => {
    const { ctx, width, ratio } = picture;
    drawGrid(picture, frame, state.origin());
    ctx.imageSmoothingEnabled = false;
    for (const map of maps()) {
      const left = frameX(map.t0, frame);
      const right = frameX(map.t1, frame);
      if (right < 0 || left > width) continue;
      const image = imageOf(map, peak(), Math.round((HEIGHT - 4) * ratio));
      if (image) ctx.drawImage(image, left, 3, right - left, HEIGHT - 4);
    }
    ctx.fillStyle = color('border');
    ctx.fillRect(0, HEIGHT - 1, width, 1);
  };
  const gutter = ({ ctx, width }: Picture): void => {
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    ctx.fillStyle = color('text-2');
    ctx.fillText('requests', 8, HEIGHT / 2);
    ctx.fillStyle = color('text-3');
    ctx.textAlign = 'right';
    ctx.fillText(format.short(peak()), width - 6, 9);
    ctx.fillText('0', width - 6, HEIGHT - 8);
    ctx.fillStyle = color('border');
    ctx.fillRect(0, HEIGHT - 1, width, 1);
  };
  const onPoint = (point: Point | undefined): void => {
    const map = point && maps().findLast((each) => each.t0 <= point.t && point.t < each.t1);
    if (!point || point.isInGutter || !map) {
      state.setCursor(undefined);
      return;
    }
    const at = Math.floor(((point.t - map.t0) / (map.t1 - map.t0)) * map.x_buckets);
    const counts = lifecycleCounts(map);
    const facts: Fact[] = LIFECYCLE.map(({ label, token }, which) => ({
      name: label,
      value: format.count(counts[which]?.[at] ?? 0),
      color: color(token),
    }));
    const [some, all] = [map.rows.length, map.rows_total ?? map.rows.length];
    if (all > some)
      facts.push({ name: 'of samples', value: `${format.count(some)} of ${format.count(all)}` });
    state.setCursor({ t: point.t, x: point.x, y: point.y, title: 'requests', facts });
  };
  return (
    <Show when={hasAny()}>
      <Plot
        class="c-lifecycle"
        label="Requests that were queued, generating or waiting for a tool, over time"
        height={HEIGHT}
        draw={draw}
        gutter={gutter}
        onPoint={onPoint}
      />
    </Show>
  );
}
