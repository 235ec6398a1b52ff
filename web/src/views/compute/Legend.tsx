// What the colours mean: phases that the run has, the states of requests, the ramp of a magnitude.

import { createMemo, For, Show, type JSX } from 'solid-js';
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
  return (
    <ul class="c-legend" aria-label="Phases">
      <For each={Object.keys(PHASES)}>
        {(name) => (
          <li data-tip={phaseStyle(name).what}>
            <Swatch phase={name} />
            {name}
          </li>
        )}
      </For>
      <li data-tip="a phase that only this run knows">
        <Swatch phase="?" />
        other
      </li>
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

export function RampLegend(props: { readonly most: string }): JSX.Element {
  const state = useCompute();
  const gradient = createMemo(() => {
    isDark();
    color('text');
    const stops = rampOf(state.metric());
    return `linear-gradient(to right, ${[0, 0.2, 0.4, 0.6, 0.8, 1].map((at) => css(rampAt(stops, at))).join(', ')})`;
  });
  return (
    <span class="c-ramp">
      <span>0</span>
      <i style={{ 'background-image': gradient() }} />
      <Show when={props.most}>
        <span>{props.most}</span>
      </Show>
    </span>
  );
}
