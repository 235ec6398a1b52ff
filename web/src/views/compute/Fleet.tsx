// The fleet overview, of any number of lanes: what share of them is in which phase, and how busy they are.

import { createEffect, type JSX } from 'solid-js';
import { api, type Fleet as FleetAnswer } from '../../api';
import { phaseColor } from '../../design/phases';
import { color } from '../../design/theme';
import { format, type Picture } from '../../kit';
import { bandImage, compositionImage, stackOrder } from './fleetPaint';
import { frameX, type Frame } from './frame';
import { createPieces } from './pieceQueries';
import { Plot, type Point } from './Plot';
import { useCompute, type Fact } from './state';
import { drawGrid } from './TimeAxis';

const COMPOSITION_HEIGHT = 132;
const BAND_HEIGHT = 104;
const MOST_FACTS = 7;

export function Fleet(): JSX.Element {
  const state = useCompute();
  const tiled = state.piecesAt(() => 2 * state.period());
  const answers = createPieces<FleetAnswer>(
    () => tiled(),
    ({ t0, t1, buckets }) => api.fleet({ t0, t1, x_buckets: buckets }),
    state.settledBefore,
  );

  createEffect(() => {
    for (const { data } of answers.loaded()) state.seePhases(Object.keys(data.composition));
  });

  const picture =
    (height: number, image: (fleet: FleetAnswer, ratio: number) => OffscreenCanvas | undefined) =>
    (to: Picture, frame: Frame): void => {
      const { ctx } = to;
      const start = Math.max(0, frameX(state.full()[0], frame));
      const end = Math.min(frame.width, frameX(state.full()[1], frame));
      ctx.fillStyle = color('surface-2');
      ctx.fillRect(start, 0, Math.max(0, end - start), height);
      drawGrid(to, frame, state.origin());
      ctx.save();
      ctx.beginPath();
      ctx.rect(start, 0, Math.max(0, end - start), height);
      ctx.clip();
      ctx.imageSmoothingEnabled = false;
      for (const { data } of answers.loaded()) {
        const left = frameX(data.t0, frame);
        const right = frameX(data.t1, frame);
        if (right < start || left > end) continue;
        const made = image(data, to.ratio);
        if (made) ctx.drawImage(made, left, 0, right - left, height);
      }
      ctx.restore();
    };
  const gutter =
    (height: number) =>
    ({ ctx, width }: Picture): void => {
      ctx.font = '11px system-ui, sans-serif';
      ctx.fillStyle = color('axis');
      ctx.textAlign = 'right';
      ctx.textBaseline = 'top';
      ctx.fillText('100 %', width - 8, 3);
      ctx.textBaseline = 'bottom';
      ctx.fillText('0', width - 8, height - 1);
      ctx.textAlign = 'left';
      if (width <= 100) return;
      ctx.textBaseline = 'middle';
      ctx.fillStyle = color('text-2');
      const isBand = height === BAND_HEIGHT;
      ctx.fillText(isBand ? 'utilization' : 'lanes by phase', 8, height / 2 - 7);
      ctx.fillStyle = color('text-3');
      const second = isBand ? 'p10–p90, median, min' : format.plural(state.laneCount(), 'lane');
      ctx.fillText(second, 8, height / 2 + 8, width - 40);
    };

  const bucketAt = (t: number): { fleet: FleetAnswer; at: number } | undefined => {
    const fleet = answers.loaded().findLast((piece) => piece.t0 <= t && t < piece.t1)?.data;
    return fleet && { fleet, at: Math.floor(((t - fleet.t0) / (fleet.t1 - fleet.t0)) * fleet.x_buckets) };
  };
  const compositionFacts = (t: number): Fact[] => {
    const found = bucketAt(t);
    if (!found) return [];
    return stackOrder(Object.keys(found.fleet.composition))
      .map((name) => ({ name, share: found.fleet.composition[name]?.[found.at] ?? 0 }))
      .filter(({ share }) => share > 0)
      .sort((a, b) => b.share - a.share)
      .slice(0, MOST_FACTS)
      .map(({ name, share }) => ({
        name,
        value: `${format.percent(share)} · ${format.count(share * found.fleet.lanes)}`,
        color: phaseColor(name),
      }));
  };
  const bandFacts = (t: number): Fact[] => {
    const found = bucketAt(t);
    if (!found) return [];
    const say = (key: 'p10' | 'p50' | 'p90' | 'min'): string => {
      const value = found.fleet.band[key][found.at];
      return value === null || value === undefined ? format.MISSING : `${format.num(value, 3)} %`;
    };
    return [
      { name: '90th percentile', value: say('p90') },
      { name: 'median', value: say('p50'), color: color('series-3') },
      { name: '10th percentile', value: say('p10') },
      { name: 'minimum', value: say('min'), color: color('series-2') },
    ];
  };
  const onPoint = (point: Point | undefined, both: (t: number) => Fact[], title: string): void => {
    state.setCursor(
      point && !point.isInGutter
        ? { t: point.t, x: point.x, y: point.y, title, facts: both(point.t) }
        : undefined,
    );
  };

  return (
    <>
      <Plot
        class="c-fleet"
        label="Share of the lanes in each phase, over time"
        height={COMPOSITION_HEIGHT}
        gutter={gutter(COMPOSITION_HEIGHT)}
        draw={picture(COMPOSITION_HEIGHT, (fleet, ratio) =>
          compositionImage(fleet, Math.round(COMPOSITION_HEIGHT * ratio)),
        )}
        onPoint={(point) => onPoint(point, compositionFacts, 'lanes by phase')}
      />
      <Plot
        class="c-fleet"
        label="Utilization of the lanes over time: 10th to 90th percentile, median and minimum"
        height={BAND_HEIGHT}
        gutter={gutter(BAND_HEIGHT)}
        draw={picture(BAND_HEIGHT, (fleet, ratio) =>
          bandImage(fleet, Math.round(BAND_HEIGHT * ratio), ratio),
        )}
        onPoint={(point) => onPoint(point, bandFacts, 'utilization of the lanes')}
      />
    </>
  );
}
