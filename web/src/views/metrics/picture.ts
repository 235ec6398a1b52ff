// A chart as a PNG: its canvas with a title on the page's colour, so that it can be read where it is pasted.

import { color } from '../../design/theme';

const PAD = 12;
const TITLE = 22;

export function pictureOf(canvas: HTMLCanvasElement, title: string, lines: readonly string[]): Promise<Blob> {
  const ratio = devicePixelRatio;
  const above = PAD + TITLE * (1 + lines.length);
  const picture = document.createElement('canvas');
  picture.width = canvas.width + 2 * PAD * ratio;
  picture.height = canvas.height + (above + PAD) * ratio;
  const ctx = picture.getContext('2d');
  if (!ctx) return Promise.reject(new Error('no canvas'));
  ctx.fillStyle = color('surface');
  ctx.fillRect(0, 0, picture.width, picture.height);
  ctx.drawImage(canvas, PAD * ratio, above * ratio);
  ctx.scale(ratio, ratio);
  ctx.textBaseline = 'top';
  ctx.fillStyle = color('text');
  ctx.font = `600 13px ${getComputedStyle(document.body).fontFamily}`;
  ctx.fillText(title, PAD, PAD);
  ctx.fillStyle = color('text-2');
  ctx.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  lines.forEach((line, at) => ctx.fillText(line, PAD, PAD + TITLE * (at + 1) - 2));
  return new Promise((resolve, reject) => {
    picture.toBlob((blob) => (blob ? resolve(blob) : reject(new Error('no picture'))), 'image/png');
  });
}
