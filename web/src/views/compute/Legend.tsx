// What the colours mean: phases that the run has, the states of requests, the ramp of a magnitude.

import { createMemo, For, type JSX } from 'solid-js';
import type { HeatmapMetric } from '../../api';
import { PHASES, phaseStyle } from '../../design/phases';
import { color, isDark } from '../../design/theme';
import { LIFECYCLE, rampOf } from './carpetPaint';
import { css, rampAt } from './ramp';
import { useCompute } from './state';

/** A little field of a colour; phases that are idle are hatched as in the pictures. */
export function Swatch(props: { readonly phase?: string; readonly fill?: string }): JSX.Element {
  const token = (): string => phaseStyle(props.phase ?? '').token;
  return (
    <i
      class="c-swatch"
      classList={{ 'c-swatch-idle': props.phase !== undefined && phaseStyle(props.phase).isIdle }}
      style={{ 'background-color': props.fill ?? `var(--${token()})` }}
    />
  );
}

export function PhaseLegend(): JSX.Element {
  const state = useCompute();
  const names = (): string[] => {
    const seen = state.phaseNames();
    return [
      ...Object.keys(PHASES).filter((name) => seen.has(name)),
      ...[...seen].filter((name) => !(name in PHASES) && name !== 'none' && name !== '').sort(),
    ];
  };
  return (
    <ul class="c-legend" aria-label="Phases">
      <For each={names()}>
        {(name) => (
          <li data-tip={phaseStyle(name).what}>
            <Swatch phase={name} />
            {name}
          </li>
        )}
      </For>
    </ul>
  );
}

export function LifecycleLegend(): JSX.Element {
  return (
    <ul class="c-legend" aria-label="Requests">
      <For each={LIFECYCLE}>
        {({ label, token }) => (
          <li>
            <Swatch fill={`var(--${token})`} />
            {label}
          </li>
        )}
      </For>
    </ul>
  );
}

export function RampLegend(props: {
  readonly from: string;
  readonly to: string;
  readonly metric?: HeatmapMetric;
}): JSX.Element {
  const state = useCompute();
  const gradient = createMemo(() => {
    isDark();
    color('text');
    const stops = rampOf(props.metric ?? state.metric());
    return `linear-gradient(to right, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => css(rampAt(stops, at))).join(', ')})`;
  });
  return (
    <span class="c-ramp">
      <span>{props.from}</span>
      <i style={{ 'background-image': gradient() }} />
      <span>{props.to}</span>
    </span>
  );
}
