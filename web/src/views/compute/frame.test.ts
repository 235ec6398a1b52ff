import { describe, expect, it } from 'vitest';
import { frameAround, frameX, serves, transformOf } from './frame';

describe('the painted picture', () => {
  const frame = frameAround([100, 200], 1000);

  it('reaches half a window further at each side', () => {
    expect(frame).toEqual({ span: [50, 250], width: 2000 });
    expect(frameX(100, frame)).toBe(500);
  });

  it('is moved while the window stays inside', () => {
    expect(serves(frame, [60, 160], 1000, true)).toBe(true);
    expect(serves(frame, [40, 140], 1000, true)).toBe(false);
    expect(transformOf(frame, [60, 160], 1000)).toBe('translateX(-100.00px) scaleX(1.000000)');
  });

  it('is stretched while the window is zoomed, and painted anew at rest', () => {
    expect(serves(frame, [125, 175], 1000, true)).toBe(true);
    expect(serves(frame, [125, 175], 1000, false)).toBe(false);
    expect(serves(frame, [145, 155], 1000, true)).toBe(false);
    expect(transformOf(frame, [125, 175], 1000)).toBe('translateX(-1500.00px) scaleX(2.000000)');
  });

  it('belongs to a width of the page', () => {
    expect(serves(frame, [100, 200], 900, true)).toBe(false);
  });
});
