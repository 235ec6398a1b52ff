// The training steps of the whole run as a strip, coloured by how much of each was waiting; it shows where the window
// is, and a click on a step zooms to it.

import { createMemo, onCleanup, type JSX } from 'solid-js';
import { api, createQuery } from '../../api';
import { color } from '../../design/theme';
import { Canvas, format, type Picture, type Span } from '../../kit';
import { useKeys } from '../../state/keys';
import { css, inkOn, mix, rampAt, readRgb, type Rgb } from './ramp';
import { useCompute } from './state';
import { stepsOf, type Step } from './steps';
import { timeText } from './ticks';

const HEIGHT = 24;
/** Below the strip the window widens to the axis of the pictures under it. */
const FUNNEL = 9;

/** No waiting is calm, all of it is an alarm. Tracked. */
export function waitRamp(): Rgb[] {
  const ground = readRgb(color('surface-3'));
  const [orange, red] = [readRgb(color('series-2')), readRgb(color('critical'))];
  return [ground, mix(ground, orange, 0.5), orange, red];
}

export function StepStrip(): JSX.Element {
  const state = useCompute();
  const query = createQuery(() => api.bubbles());
  const steps = createMemo(() => stepsOf(query.data()?.bubbles ?? []));
  const xOf = (t: number): number => {
    const [from, to] = state.full();
    return state.plot().left + ((t - from) / Math.max(1e-3, to - from)) * state.plot().width;
  };
  const tOf = (x: number): number => {
    const [from, to] = state.full();
    return from + ((x - state.plot().left) / Math.max(1, state.plot().width)) * (to - from);
  };

  const draw = ({ ctx }: Picture): void => {
    const ramp = waitRamp();
    const plot = state.plot();
    ctx.textAlign = 'left';
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.fillStyle = color('text-2');
    ctx.fillText(plot.left > 100 ? 'steps, by wait ratio' : 'steps', 8, HEIGHT / 2);
    ctx.fillStyle = color('surface-2');
    ctx.fillRect(plot.left, 4, plot.width, HEIGHT - 8);
    ctx.textAlign = 'center';
    for (const step of steps()) {
      const left = Math.max(plot.left, xOf(step.t0));
      const size = Math.max(1.5, xOf(step.t1) - left - 1);
      const fill: Rgb = step.wait === null ? readRgb(color('surface-3')) : rampAt(ramp, step.wait);
      ctx.fillStyle = css(fill);
      ctx.fillRect(left, 4, size, HEIGHT - 8);
      const name = String(step.id);
      if (size < ctx.measureText(name).width + 6) continue;
      ctx.fillStyle = inkOn(fill);
      ctx.fillText(name, left + size / 2, HEIGHT / 2 + 0.5);
    }
  };
  /** The window on the strip, and how it widens below: painted in every frame of a gesture, so apart. */
  const drawWindow = ({ ctx, width }: Picture): void => {
    const plot = state.plot();
    const [from, to] = state.span();
    const left = Math.max(plot.left, xOf(from));
    const right = Math.min(width, Math.max(left + 3, xOf(to)));
    ctx.globalAlpha = 0.6;
    ctx.fillStyle = color('surface');
    ctx.fillRect(plot.left, 2, left - plot.left, HEIGHT - 4);
    ctx.fillRect(right, 2, width - right, HEIGHT - 4);
    ctx.globalAlpha = 1;
    ctx.fillStyle = color('selection');
    ctx.beginPath();
    ctx.moveTo(left, HEIGHT - 1);
    ctx.lineTo(right, HEIGHT - 1);
    ctx.lineTo(width, HEIGHT + FUNNEL);
    ctx.lineTo(plot.left, HEIGHT + FUNNEL);
    ctx.fill();
    ctx.strokeStyle = color('text');
    ctx.lineWidth = 1.5;
    ctx.strokeRect(left + 0.75, 1.25, Math.max(2, right - left - 1.5), HEIGHT - 2.5);
  };

  const stepAt = (t: number): Step | undefined => steps().find((step) => step.t0 <= t && t < step.t1);
  const zoom = (step: Step | undefined): void => {
    if (!step) return;
    const room = Math.max(1, (step.t1 - step.t0) * 0.03);
    state.zoomTo([step.t0 - room, step.t1 + room]);
  };
  /** The step before or after the middle of the window. */
  const neighbour = (by: 1 | -1): void => {
    const middle = (state.span()[0] + state.span()[1]) / 2;
    const here = steps().findIndex((step) => step.t1 > middle);
    const at = here < 0 ? steps().length - 1 : here + by;
    zoom(steps()[Math.min(Math.max(at, 0), steps().length - 1)]);
  };
  useKeys('Compute utilization', [
    { keys: ['.'], what: 'zoom to the next step', run: () => neighbour(1) },
    { keys: [','], what: 'zoom to the step before', run: () => neighbour(-1) },
    { keys: ['0'], what: 'whole window', run: state.reset },
    { keys: ['Shift+f'], what: 'follow the newest data', run: state.follow },
    { keys: ['ArrowLeft', 'ArrowRight', '+', '-'], what: 'pan and zoom, on a picture' },
    { keys: ['ArrowUp', 'ArrowDown', 'Enter'], what: 'choose a lane, on the carpet or the map' },
  ]);

  const attach = (canvas: HTMLCanvasElement): void => {
    const stop = new AbortController();
    const { signal } = stop;
    const at = (event: PointerEvent): number => tOf(event.clientX - canvas.getBoundingClientRect().left);
    let down: { readonly t: number; readonly span: Span; moved: boolean } | undefined;
    canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        down = { t: at(event), span: state.span(), moved: false };
        canvas.setPointerCapture(event.pointerId);
      },
      { signal },
    );
    canvas.addEventListener(
      'pointermove',
      (event) => {
        const t = at(event);
        if (down) {
          const by = t - down.t;
          if (Math.abs(xOf(t) - xOf(down.t)) > 4) down.moved = true;
          if (down.moved) state.setSpan([down.span[0] + by, down.span[1] + by], false);
        }
        const step = stepAt(t);
        const [from, to] = state.full();
        if (t < from || t > to) state.setCursor(undefined);
        else
          state.setCursor({
            t,
            x: event.clientX,
            y: event.clientY,
            title: step ? `step ${step.id}` : 'between steps',
            facts: step
              ? [
                  {
                    name: 'wait ratio',
                    value: format.percent(step.wait),
                    color: css(rampAt(waitRamp(), step.wait ?? 0)),
                  },
                  { name: 'step time', value: format.duration(step.seconds) },
                  { name: 'from', value: timeText(step.t0, state.origin()) },
                ]
              : [],
          });
      },
      { signal },
    );
    canvas.addEventListener(
      'pointerup',
      (event) => {
        if (down?.moved === true) state.setSpan(state.span(), true);
        else if (down) zoom(stepAt(at(event)));
        down = undefined;
      },
      { signal },
    );
    canvas.addEventListener('pointerleave', () => state.setCursor(undefined), { signal });
    canvas.addEventListener('dblclick', () => state.reset(), { signal });
    canvas.addEventListener(
      'keydown',
      (event) => {
        if (event.key === 'ArrowRight') neighbour(1);
        else if (event.key === 'ArrowLeft') neighbour(-1);
        else return;
        event.preventDefault();
      },
      { signal },
    );
    onCleanup(() => stop.abort());
  };

  return (
    <div class="c-steps">
      <Canvas
        label={`Strip of ${format.plural(steps().length, 'step')}, coloured by wait ratio. Arrow left and right zoom to the neighbouring step`}
        height={HEIGHT + FUNNEL}
        draw={draw}
        ref={attach}
        focusable
      />
      <div class="c-over" aria-hidden="true">
        <Canvas label="" height={HEIGHT + FUNNEL} draw={drawWindow} />
      </div>
    </div>
  );
}
