// Ramps of colours for magnitudes, made from the sheet's colours so that they follow the theme.

export type Rgb = readonly [number, number, number];

/** `rgb(1, 2, 3)` as numbers; black for anything else. */
export function readRgb(text: string): Rgb {
  const found = text.match(/[\d.]+/g)?.map(Number) ?? [];
  // Browsers write mixed colours as color(srgb 0.1 0.2 0.3).
  const scale = text.startsWith('color(') ? 255 : 1;
  return [(found[0] ?? 0) * scale, (found[1] ?? 0) * scale, (found[2] ?? 0) * scale];
}

export const mix = (a: Rgb, b: Rgb, share: number): Rgb => [
  a[0] + (b[0] - a[0]) * share,
  a[1] + (b[1] - a[1]) * share,
  a[2] + (b[2] - a[2]) * share,
];

export const css = ([r, g, b]: Rgb): string => `rgb(${Math.round(r)} ${Math.round(g)} ${Math.round(b)})`;

const BLACK: Rgb = [0, 0, 0];

/** A colour at `share` (0 to 1) of a ramp with evenly spread stops. */
export function rampAt(stops: readonly Rgb[], share: number): Rgb {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1);
  const left = Math.min(Math.floor(at), Math.max(0, stops.length - 2));
  const a = stops[left] ?? BLACK;
  return mix(a, stops[left + 1] ?? a, at - left);
}

/** 256 pixels as ImageData wants them, in the byte order of every machine that runs browsers. */
export function rampTable(stops: readonly Rgb[]): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, value) => pixel(rampAt(stops, value / 255)));
}

export const pixel = ([r, g, b]: Rgb, alpha = 255): number =>
  ((alpha << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0;

/** Relative luminance, 0 to 1. */
export function luminance([r, g, b]: Rgb): number {
  const line = (c: number): number => {
    const s = c / 255;
    return s <= 0.03928 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * line(r) + 0.7152 * line(g) + 0.0722 * line(b);
}

/** Black or white, whichever is read better on it. */
export const inkOn = (color: Rgb): string => (luminance(color) > 0.179 ? '#000' : '#fff');
