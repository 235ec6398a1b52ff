// A large fleet as a map: a column a node, a cell a GPU, coloured by its mean utilisation in the window. A click takes
// a lane into the detail, a brush those under it.

import { createMemo, createSignal, onCleanup, Show, type JSX } from 'solid-js';
import { api, createQuery, isSample, rowOf } from '../../api';
import { color } from '../../design/theme';
import { Canvas, format, HoverCard, type Picture } from '../../kit';
import { rampOf } from './carpetPaint';
import { RampLegend } from './Legend';
import { laneMap, type MapCell } from './laneGrid';
import { css, rampAt } from './ramp';
import { toggleLane, withLanes } from './selector';
import type { Selected } from './selection';
import { useCompute } from './state';

/** Each part counts with its greatest reading, so parts have to be small. */
const MOST_BUCKETS = 512;
/** A fleet of lanes that are all alike is not told apart by noise. */
const LEAST_RANGE = 10;
const DRAG_PIXELS = 4;

export function LaneMap(props: { readonly selected: Selected }): JSX.Element {
  const state = useCompute();
  const lanes = (): readonly { node: string; gpu: number; index: number }[] => state.topology()?.lanes ?? [];
  const [width, setWidth] = createSignal(800);
  const grid = createMemo(() => laneMap(lanes(), width()));
  const query = createQuery(() => {
    const [t0, t1] = state.settled();
    if (t1 - t0 <= 1) return null;
    const parts = Math.ceil((t1 - t0) / (2 * state.period()));
    const x_buckets = Math.min(MOST_BUCKETS, Math.max(2, parts));
    return api.heatmap('util', { t0: Math.floor(t0), t1: Math.ceil(t1), x_buckets });
  });
  const means = createMemo(() => {
    const found = new Map<number, number>();
    const map = query.data();
    const end = state.full()[1];
    map?.rows.forEach((row, at) => {
      if (isSample(row)) return;
      // Buckets that the data has not reached say nothing.
      const reached = Math.ceil(Math.min(1, (end - map.t0) / (map.t1 - map.t0)) * map.x_buckets);
      let sum = 0;
      for (const cell of rowOf(map, at).subarray(0, reached)) sum += cell;
      found.set(row.index, (sum / Math.max(1, reached) / 255) * 100);
    });
    return found;
  });

  /** The means that the ends of the ramp stand for: what differs is to be seen. */
  const range = createMemo((): readonly [number, number] => {
    let [low, high] = [100, 0];
    for (const mean of means().values()) {
      low = Math.min(low, mean);
      high = Math.max(high, mean);
    }
    if (low > high) return [0, 100];
    const middle = (low + high) / 2;
    const half = Math.max(LEAST_RANGE, high - low) / 2;
    return [Math.max(0, Math.floor(middle - half)), Math.min(100, Math.ceil(middle + half))];
  });

  const draw = ({ ctx }: Picture): void => {
    const ramp = rampOf('util');
    const { cells, size } = grid();
    const chosen = props.selected.indices();
    const [low, high] = range();
    for (const cell of cells) {
      const mean = means().get(cell.index);
      ctx.fillStyle =
        mean === undefined ? color('surface-2') : css(rampAt(ramp, (mean - low) / Math.max(1, high - low)));
      ctx.fillRect(cell.x, cell.y, size - 1, size - 1);
      if (!chosen.has(cell.index)) continue;
      ctx.strokeStyle = color('text');
      ctx.lineWidth = 1.5;
      ctx.strokeRect(cell.x + 0.25, cell.y + 0.25, size - 1.5, size - 1.5);
    }
  };

  const [at, setAt] = createSignal<{ cell: MapCell; x: number; y: number }>();
  const [brush, setBrush] = createSignal<{ left: number; top: number; width: number; height: number }>();
  const [focused, setFocused] = createSignal<number>();

  const attach = (canvas: HTMLCanvasElement): void => {
    const stop = new AbortController();
    const { signal } = stop;
    const observer = new ResizeObserver(() => setWidth(canvas.clientWidth));
    observer.observe(canvas);
    let down: { x: number; y: number } | undefined;
    const local = (event: PointerEvent): { x: number; y: number } => {
      const box = canvas.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    canvas.addEventListener(
      'pointerdown',
      (event) => {
        if (event.button !== 0) return;
        down = local(event);
        canvas.setPointerCapture(event.pointerId);
      },
      { signal },
    );
    canvas.addEventListener(
      'pointermove',
      (event) => {
        const here = local(event);
        const cell = grid().at(here.x, here.y);
        setAt(cell && { cell, x: event.clientX, y: event.clientY });
        if (!down || Math.hypot(here.x - down.x, here.y - down.y) < DRAG_PIXELS) return;
        setBrush({
          left: Math.min(here.x, down.x),
          top: Math.min(here.y, down.y),
          width: Math.abs(here.x - down.x),
          height: Math.abs(here.y - down.y),
        });
      },
      { signal },
    );
    const end = (event: PointerEvent): void => {
      const box = brush();
      const start = down;
      down = undefined;
      setBrush(undefined);
      if (!start || event.type === 'pointercancel') return;
      if (box) {
        const chosen = grid()
          .within(box)
          .map((cell) => cell.index);
        if (chosen.length > 0) state.setLanes(withLanes(state.lanes(), chosen));
        return;
      }
      const cell = grid().at(start.x, start.y);
      if (cell) toggle(cell.index);
    };
    canvas.addEventListener('pointerup', end, { signal });
    canvas.addEventListener('pointercancel', end, { signal });
    canvas.addEventListener('pointerleave', () => setAt(undefined), { signal });
    canvas.addEventListener(
      'keydown',
      (event) => {
        const next = grid().move(focused(), event.key);
        if (next !== undefined) setFocused(next);
        else if ((event.key === 'Enter' || event.key === ' ') && focused() !== undefined)
          toggle(focused() ?? 0);
        else return;
        event.preventDefault();
      },
      { signal },
    );
    onCleanup(() => {
      stop.abort();
      observer.disconnect();
    });
  };
  const toggle = (index: number): void => {
    const before = props.selected.isDefault() ? [] : props.selected.lanes().map((lane) => lane.index);
    state.setLanes(toggleLane(state.lanes(), index, before));
  };
  const focusedCell = (): MapCell | undefined => grid().cells.find((cell) => cell.index === focused());
  const say = (cell: MapCell): string => {
    const mean = means().get(cell.index);
    return mean === undefined ? format.MISSING : `${format.num(mean, 3)} %`;
  };

  return (
    <div class="c-map-row">
      <span class="c-map-name">
        <span data-tip="a column a node, a cell a GPU, coloured by its mean utilization in the window; a part of the window counts with its greatest reading">
          mean utilization, by node
        </span>
        <RampLegend metric="util" from={`${range()[0]} %`} to={`${range()[1]} %`} />
      </span>
      <div class="c-map">
        <Canvas
          label="Map of the lanes: a column a node, a cell a GPU. Arrow keys move, Enter takes a lane into the detail"
          height={grid().height}
          draw={draw}
          ref={attach}
          focusable
        />
        <Show when={brush()}>
          {(box) => (
            <div
              class="c-brush"
              style={{
                left: `${box().left}px`,
                top: `${box().top}px`,
                width: `${box().width}px`,
                height: `${box().height}px`,
              }}
            />
          )}
        </Show>
        <Show when={focusedCell()}>
          {(cell) => (
            <div
              class="c-map-focus"
              style={{
                transform: `translate(${cell().x}px, ${cell().y}px)`,
                width: `${grid().size}px`,
                height: `${grid().size}px`,
              }}
            >
              <span class="visually-hidden" aria-live="polite">
                {cell().node} GPU {cell().gpu}, {say(cell())}
              </span>
            </div>
          )}
        </Show>
        <HoverCard at={at()}>
          <dl class="c-card">
            <dt>{at()?.cell.node}</dt>
            <dd>GPU {at()?.cell.gpu}</dd>
            <dt>lane</dt>
            <dd>g:{at()?.cell.index}</dd>
            <dt data-tip="of the greatest readings of the parts of the window">mean utilization</dt>
            <dd>{((cell) => cell && say(cell))(at()?.cell)}</dd>
          </dl>
        </HoverCard>
      </div>
    </div>
  );
}
