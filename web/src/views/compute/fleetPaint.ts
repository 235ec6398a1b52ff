// Pictures of the fleet overview, piece by piece: phases stacked by their share of the lanes, and the band of utilisation.

import type { Fleet } from '../../api';
import { PHASES, phaseFill, phaseStyle } from '../../design/phases';
import { color, isDark } from '../../design/theme';

/** Pixels a bucket. */
const WIDE = 2;

interface Image {
  readonly canvas: OffscreenCanvas;
  readonly look: string;
}

function cached(
  images: WeakMap<Fleet, Image>,
  fleet: Fleet,
  height: number,
  paint: (ctx: OffscreenCanvasRenderingContext2D) => void,
): OffscreenCanvas | undefined {
  const look = `${isDark()} ${height}`;
  const known = images.get(fleet);
  if (known?.look === look) return known.canvas;
  const canvas = new OffscreenCanvas(fleet.x_buckets * WIDE, height);
  const ctx = canvas.getContext('2d');
  if (!ctx) return undefined;
  paint(ctx);
  images.set(fleet, { canvas, look });
  return canvas;
}

/** Phases from the bottom up: work first, idle above it, then what no phase covers. Unknown ones go between. */
export function stackOrder(names: Iterable<string>): string[] {
  const known = Object.keys(PHASES);
  const rank = (name: string): number => {
    if (phaseStyle(name).isIdle) return 1000 + known.indexOf(name);
    const at = known.indexOf(name);
    return at < 0 ? 500 : at;
  };
  return [...names].filter((name) => name !== 'none').sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

const compositions = new WeakMap<Fleet, Image>();

export const compositionImage = (fleet: Fleet, height: number): OffscreenCanvas | undefined =>
  cached(compositions, fleet, height, (ctx) => {
    const below = new Float64Array(fleet.x_buckets);
    for (const name of stackOrder(Object.keys(fleet.composition))) {
      const shares = fleet.composition[name] ?? [];
      ctx.fillStyle = phaseFill(ctx as unknown as CanvasRenderingContext2D, name, 1);
      shares.forEach((share, at) => {
        if (share <= 0) return;
        const from = below[at] ?? 0;
        below[at] = from + share;
        const top = Math.round((1 - from - share) * height);
        ctx.fillRect(at * WIDE, top, WIDE, Math.round((1 - from) * height) - top);
      });
    }
  });

const bands = new WeakMap<Fleet, Image>();

export const BAND_LINES = [
  { key: 'p50', label: 'median', token: 'series-3' },
  { key: 'min', label: 'minimum', token: 'series-2' },
] as const;

export const bandImage = (fleet: Fleet, height: number, ratio: number): OffscreenCanvas | undefined =>
  cached(bands, fleet, height, (ctx) => {
    const y = (percent: number): number => (1 - Math.min(percent, 100) / 100) * (height - 2 * ratio) + ratio;
    const { p10, p90 } = fleet.band;
    ctx.globalAlpha = 0.28;
    ctx.fillStyle = color('series-3');
    p90.forEach((high, at) => {
      const low = p10[at];
      if (high === null || low === null || low === undefined) return;
      ctx.fillRect(at * WIDE, y(high), WIDE, Math.max(ratio, y(low) - y(high)));
    });
    ctx.globalAlpha = 1;
    for (const { key, token } of BAND_LINES) {
      ctx.strokeStyle = color(token);
      ctx.lineWidth = (key === 'min' ? 1 : 1.5) * ratio;
      ctx.lineJoin = 'round';
      ctx.beginPath();
      let isDown = false;
      fleet.band[key].forEach((value, at) => {
        if (value === null) isDown = false;
        else if (isDown) ctx.lineTo((at + 0.5) * WIDE, y(value));
        else {
          ctx.moveTo(at * WIDE, y(value));
          ctx.lineTo((at + 0.5) * WIDE, y(value));
          isDown = true;
        }
      });
      ctx.stroke();
    }
  });
