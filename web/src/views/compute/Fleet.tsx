// The fleet overview, of any number of lanes: what share of them is in which phase, and how busy they are.

import { createMemo, type JSX } from 'solid-js';
import { api, type Fleet as FleetAnswer } from '../../api';
import { phaseColor } from '../../design/phases';
import { color } from '../../design/theme';
import { format, type Picture } from '../../kit';
import { bandImage, compositionImage, stackOrder } from './fleetPaint';
import { createPieces } from './pieceQueries';
import { Plot, type Point } from './Plot';
import { useCompute, type Fact } from './state';
import { drawGrid, xOf } from './TimeAxis';

const COMPOSITION_HEIGHT = 132;
const BAND_HEIGHT = 104;
const MOST_FACTS = 7;

export function Fleet(): JSX.Element {
  const state = useCompute();
  const tiled = createMemo(state.piecesAt(() => 2 * state.period()));
  const answers = createPieces<FleetAnswer>(
    () => tiled(),
    ({ t0, t1, buckets }) => api.fleet({ t0, t1, x_buckets: buckets }),
    state.settledBefore,
  );

  const picture =
    (height: number, image: (fleet: FleetAnswer, ratio: number) => OffscreenCanvas | undefined) =>
    (to: Picture): void => {
      const { ctx, width } = to;
      const plot = state.plot();
      const span = state.span();
      const end = Math.min(width, xOf(state.full()[1], span, plot));
      ctx.fillStyle = color('surface-2');
      ctx.fillRect(plot.left, 0, Math.max(0, end - plot.left), height);
      drawGrid(to, state);
      ctx.save();
      ctx.beginPath();
      ctx.rect(plot.left, 0, Math.max(0, end - plot.left), height);
      ctx.clip();
      ctx.imageSmoothingEnabled = false;
      for (const { data } of answers.loaded()) {
        const left = xOf(data.t0, span, plot);
        const right = xOf(data.t1, span, plot);
        if (right < plot.left || left > width) continue;
        const made = image(data, to.ratio);
        if (made) ctx.drawImage(made, left, 0, right - left, height);
      }
      ctx.restore();
      ctx.font = '11px system-ui, sans-serif';
      ctx.fillStyle = color('axis');
      ctx.textAlign = 'right';
      ctx.textBaseline = 'top';
      ctx.fillText('100 %', plot.left - 8, 2);
      ctx.textBaseline = 'bottom';
      ctx.fillText('0', plot.left - 8, height - 1);
      ctx.textAlign = 'left';
      if (plot.left <= 100) return;
      ctx.textBaseline = 'middle';
      ctx.fillStyle = color('text-2');
      const [first, second] = height === BAND_HEIGHT ? ['utilization', 'p10–p90'] : ['lanes by phase', ''];
      ctx.fillText(first ?? '', 8, height / 2 - 7);
      ctx.fillStyle = color('text-3');
      ctx.fillText(second || format.plural(state.laneCount(), 'lane'), 8, height / 2 + 8);
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
        draw={picture(COMPOSITION_HEIGHT, (fleet, ratio) =>
          compositionImage(fleet, Math.round(COMPOSITION_HEIGHT * ratio)),
        )}
        onPoint={(point) => onPoint(point, compositionFacts, 'lanes by phase')}
      />
      <Plot
        class="c-fleet"
        label="Utilization of the lanes over time: 10th to 90th percentile, median and minimum"
        height={BAND_HEIGHT}
        draw={picture(BAND_HEIGHT, (fleet, ratio) =>
          bandImage(fleet, Math.round(BAND_HEIGHT * ratio), ratio),
        )}
        onPoint={(point) => onPoint(point, bandFacts, 'utilization of the lanes')}
      />
    </>
  );
}
