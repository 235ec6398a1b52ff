// One sample's life on a line: queued, generating by weight version, waiting for tools, taken by training.

import { createMemo, createSignal, onCleanup, Show, type JSX } from 'solid-js';
import { api, createQuery, type StepRef, type TrajectoryLane } from '../../api';
import { seriesToken } from '../../design/phases';
import { color } from '../../design/theme';
import { Canvas, format, HoverCard, type Picture } from '../../kit';
import { timeTicks } from '../rollouts/anatomy';

const HEIGHT = 44;

export function Lifecycle(props: { readonly step: StepRef; readonly index: number }): JSX.Element {
  const query = createQuery(() => api.trajectories(props.step.id, props.index), { quiet: true });
  const lane = createMemo(() => query.data()?.lanes[0]);
  const consume = (): number | null => query.data()?.consume_ts ?? null;
  const [hover, setHover] = createSignal<{ readonly x: number; readonly y: number; readonly ts: number }>();
  const span = createMemo((): readonly [number, number] => {
    const own = lane();
    if (!own) return [0, 1];
    // Until training takes it, unless it lay in the buffer for most of the time: then the life itself is what counts.
    const end = consume();
    const life = own.last_ts - own.first_ts;
    const last = end !== null && end - own.last_ts < life * 2 ? Math.max(end, own.last_ts) : own.last_ts;
    return [own.first_ts, last + (last - own.first_ts || 1) * 0.02];
  });
  const versions = createMemo(() =>
    [...new Set((lane()?.segments ?? []).map((each) => each.weight_version))].filter(Boolean).sort(),
  );
  const tokenOf = (version: string | null): string => {
    const at = versions().indexOf(version);
    return at < 0 ? 'phase-unknown' : seriesToken(at);
  };
  const draw = ({ ctx, width }: Picture): void => {
    const own = lane();
    if (!own) return;
    const [t0, t1] = span();
    const x = (ts: number): number => ((ts - t0) / (t1 - t0)) * width;
    ctx.font = '11px system-ui, sans-serif';
    ctx.fillStyle = color('axis');
    ctx.textAlign = 'center';
    for (const tick of timeTicks(span(), width / 90)) {
      const at = x(tick);
      if (at > 30 && at < width - 30) ctx.fillText(format.clock(tick, t1 - t0 < 8), at, HEIGHT - 4);
    }
    const bar = (from: number, to: number, y: number, tall: number): void =>
      ctx.fillRect(x(from), y, Math.max(1.5, x(to) - x(from)), tall);
    ctx.fillStyle = color('border-strong');
    ctx.globalAlpha = 0.35;
    for (const attempt of own.attempts) bar(attempt.t0 ?? own.first_ts, attempt.t1 ?? own.last_ts, 4, 20);
    ctx.globalAlpha = 1;
    for (const segment of own.segments) {
      ctx.fillStyle = segment.kind === 'gen' ? color(tokenOf(segment.weight_version)) : color('phase-data');
      const [from, to] = [segment.t0 ?? own.first_ts, segment.t1 ?? own.last_ts];
      if (segment.kind === 'gen') bar(from, to, 4, 20);
      else bar(from, to, 9, 10);
    }
    const end = consume();
    if (end !== null && end <= t1) {
      ctx.strokeStyle = color('text');
      ctx.setLineDash([4, 3]);
      ctx.beginPath();
      ctx.moveTo(x(end), 0);
      ctx.lineTo(x(end), 28);
      ctx.stroke();
      ctx.setLineDash([]);
    }
  };
  const listen = (canvas: HTMLCanvasElement): void => {
    const stop = new AbortController();
    onCleanup(() => stop.abort());
    canvas.addEventListener(
      'pointermove',
      (event) => {
        const edge = canvas.getBoundingClientRect();
        const ts = span()[0] + ((event.clientX - edge.left) / edge.width) * (span()[1] - span()[0]);
        setHover({ x: event.clientX, y: event.clientY, ts });
      },
      { signal: stop.signal },
    );
    canvas.addEventListener('pointerleave', () => setHover(undefined), { signal: stop.signal });
  };
  return (
    <Show when={lane()}>
      {(own) => (
        <div class="s-life">
          <p class="s-life-text">{sentence(own(), consume())}</p>
          <Canvas label={sentence(own(), consume())} height={HEIGHT} draw={draw} ref={listen} />
          <HoverCard at={hover()}>
            <Show when={hover()}>
              {(at) => (
                <>
                  {format.clock(at().ts, true)}: {what(own(), at().ts)}
                </>
              )}
            </Show>
          </HoverCard>
        </div>
      )}
    </Show>
  );
}

function what(lane: TrajectoryLane, ts: number): string {
  const segment = lane.segments.findLast(
    (each) => (each.t0 ?? lane.first_ts) <= ts && ts <= (each.t1 ?? lane.last_ts),
  );
  if (segment) {
    const turn = segment.turn > 0 ? `, turn ${segment.turn}` : '';
    const lasted =
      segment.t0 !== null && segment.t1 !== null ? ` for ${format.duration(segment.t1 - segment.t0)}` : '';
    return segment.kind === 'gen'
      ? `generating${turn}, version ${segment.weight_version ?? 'unknown'}${lasted}`
      : `waiting for a tool${turn}${lasted}`;
  }
  return ts > lane.last_ts ? 'finished, waits for training' : 'queued, or between two calls';
}

function sentence(lane: TrajectoryLane, consume: number | null): string {
  const total = (kind: 'gen' | 'tool'): number => {
    let sum = 0;
    for (const each of lane.segments)
      if (each.kind === kind) sum += (each.t1 ?? lane.last_ts) - (each.t0 ?? lane.first_ts);
    return sum;
  };
  const first = lane.segments.find((each) => each.kind === 'gen')?.t0;
  const parts = [
    `submitted ${format.clock(lane.first_ts)}`,
    first === null || first === undefined ? '' : `queued ${format.duration(first - lane.first_ts)}`,
    `generating ${format.duration(total('gen'))}`,
    lane.segments.some((each) => each.kind === 'tool') ? `tools ${format.duration(total('tool'))}` : '',
    lane.attempts.length > 1 ? `${lane.attempts.length} attempts` : '',
    consume === null ? '' : `consumed ${format.duration(consume - lane.last_ts)} later`,
  ];
  return parts.filter((part) => part !== '').join(' · ');
}
