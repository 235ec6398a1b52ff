// Pictures of carpets: each piece of a heatmap becomes a small image once, and is stretched to its place in every frame.

import { isSample, rowOf, type Heatmap, type HeatmapMetric } from '../../api';
import { phaseFill } from '../../design/phases';
import { color, isDark } from '../../design/theme';
import * as format from '../../kit/format';
import { mix, pixel, rampTable, readRgb, type Rgb } from './ramp';

/** What is done with a request, in the order of a legend. */
export const LIFECYCLE = [
  { name: 'queue', label: 'queued', token: 'series-6' },
  { name: 'generating', label: 'generating', token: 'series-1' },
  { name: 'tool_wait', label: 'tool wait', token: 'series-4' },
] as const;

const HUES: Readonly<Partial<Record<HeatmapMetric, string>>> = {
  util: 'series-3',
  mem_mb: 'series-5',
  power_w: 'series-2',
};

/** The colours of a magnitude, from nothing to its greatest. Tracked. */
export function rampOf(metric: HeatmapMetric): Rgb[] {
  const hue = readRgb(color(HUES[metric] ?? 'series-1'));
  const ground = readRgb(color('surface-2'));
  return [ground, mix(ground, hue, 0.42), hue];
}

const MOST_TABLES = 32;
const tables = new Map<string, Uint32Array>();

/** `top` is what the last colour stands for; each piece of a carpet has a scale of its own. */
function tableOf(map: Heatmap, top: number): Uint32Array {
  const key = `${map.metric} ${isDark()} ${map.palette?.join() ?? ''} ${top} ${map.scale?.max ?? ''}`;
  let table = tables.get(key);
  if (table) return table;
  if (map.metric === 'lifecycle') {
    table = new Uint32Array(256);
    map.palette?.forEach((name, at) => {
      const known = LIFECYCLE.find((each) => each.name === name);
      if (at > 0 && table) table[at] = pixel(readRgb(color(known?.token ?? 'phase-unknown')));
    });
  } else {
    const share = (map.scale?.max ?? top) / top;
    const ramp = rampTable(rampOf(map.metric));
    table = Uint32Array.from(
      { length: 256 },
      (_, cell) => ramp[Math.min(255, Math.round(cell * share))] ?? 0,
    );
  }
  if (tables.size > MOST_TABLES) tables.clear();
  tables.set(key, table);
  return table;
}

interface Image {
  readonly canvas: OffscreenCanvas;
  readonly look: string;
}

const images = new WeakMap<Heatmap, Image>();

/** Cells as pixels, or phases as bars of this many pixels so that idle ones can be hatched. */
export function imageOf(map: Heatmap, rowPixels: number, top: number): OffscreenCanvas | undefined {
  const look = `${isDark()} ${map.metric === 'phase' ? rowPixels : top}`;
  const known = images.get(map);
  if (known?.look === look) return known.canvas;
  if (map.rows.length === 0) return undefined;
  const canvas = map.metric === 'phase' ? phaseImage(map, rowPixels) : cellImage(map, top);
  if (canvas) images.set(map, { canvas, look });
  return canvas;
}

function cellImage(map: Heatmap, top: number): OffscreenCanvas | undefined {
  const canvas = new OffscreenCanvas(map.x_buckets, map.rows.length);
  const ctx = canvas.getContext('2d');
  if (!ctx) return undefined;
  const table = tableOf(map, top);
  const data = ctx.createImageData(map.x_buckets, map.rows.length);
  const pixels = new Uint32Array(data.data.buffer);
  for (let at = 0; at < pixels.length; at += 1) pixels[at] = table[map.cells[at] ?? 0] ?? 0;
  ctx.putImageData(data, 0, 0);
  return canvas;
}

/** Pixels a bucket: a hatch needs some. */
const WIDE = 2;

function phaseImage(map: Heatmap, rowPixels: number): OffscreenCanvas | undefined {
  const canvas = new OffscreenCanvas(map.x_buckets * WIDE, map.rows.length * rowPixels);
  const ctx = canvas.getContext('2d');
  if (!ctx) return undefined;
  const fills =
    map.palette?.map((name) => phaseFill(ctx as unknown as CanvasRenderingContext2D, name, 1)) ?? [];
  map.rows.forEach((_, row) => {
    const cells = rowOf(map, row);
    let start = 0;
    for (let at = 1; at <= cells.length; at += 1) {
      if (at < cells.length && cells[at] === cells[start]) continue;
      const value = cells[start] ?? 0;
      const fill = fills[value];
      if (value > 0 && fill !== undefined) {
        ctx.fillStyle = fill;
        ctx.fillRect(start * WIDE, row * rowPixels, (at - start) * WIDE, rowPixels);
      }
      start = at;
    }
  });
  return canvas;
}

/** What a cell says: a magnitude in its unit, or a name of the palette. */
export function cellAt(map: Heatmap, row: number, t: number): { value?: number; name?: string } | undefined {
  const bucket = Math.floor(((t - map.t0) / (map.t1 - map.t0)) * map.x_buckets);
  if (bucket < 0 || bucket >= map.x_buckets || row < 0 || row >= map.rows.length) return undefined;
  const cell = rowOf(map, row)[bucket] ?? 0;
  if (map.palette) {
    const name = map.palette[cell] ?? '';
    return cell === 0 || name === '' ? {} : { name };
  }
  return { value: (cell / 255) * (map.scale?.max ?? 255) };
}

const countsOf = new WeakMap<Heatmap, Uint16Array[]>();

/** How many samples are in each state, by bucket, in the order of LIFECYCLE. */
export function lifecycleCounts(map: Heatmap): Uint16Array[] {
  const known = countsOf.get(map);
  if (known) return known;
  const counts = LIFECYCLE.map(() => new Uint16Array(map.x_buckets));
  const place = (map.palette ?? []).map((name) => LIFECYCLE.findIndex((each) => each.name === name));
  map.rows.forEach((line, row) => {
    if (!isSample(line)) return;
    rowOf(map, row).forEach((cell, at) => {
      const list = cell === 0 ? undefined : counts[place[cell] ?? -1];
      if (list) list[at] = (list[at] ?? 0) + 1;
    });
  });
  countsOf.set(map, counts);
  return counts;
}

/** What the last colour of a magnitude stands for: the same for all pieces, and in steps, so that it stands still. */
export function topOf(metric: HeatmapMetric, maps: readonly Heatmap[]): number {
  if (metric === 'util') return 100;
  const most = Math.max(0, ...maps.map((map) => map.scale?.max ?? 0));
  const step = metric === 'mem_mb' ? 16_384 : 100;
  return Math.max(step, Math.ceil(most / step) * step);
}

export function magnitudeText(metric: HeatmapMetric, value: number | undefined): string {
  if (metric === 'mem_mb') return format.memory(value);
  return value === undefined ? format.MISSING : `${format.num(value, 3)} ${metric === 'power_w' ? 'W' : '%'}`;
}
