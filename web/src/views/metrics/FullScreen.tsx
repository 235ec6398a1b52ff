// One chart over the whole window, with the numbers of what is shown.

import { createSignal, For, onCleanup, Show, type JSX } from 'solid-js';
import { Dialog, format } from '../../kit';
import { Chart } from './Chart';
import type { ChartModel } from './model';
import type { MetricsState } from './state';

/** Head, numbers and margins around the chart, CSS pixels. */
const AROUND = 300;

export function FullScreen(props: {
  readonly state: MetricsState;
  readonly make: (key: string) => ChartModel;
}): JSX.Element {
  return (
    <Dialog
      title={props.state.full() || 'Chart'}
      wide
      open={props.state.full() !== ''}
      onClose={() => props.state.setFull('')}
    >
      <Show when={props.state.full()} keyed>
        {(key) => {
          const model = props.make(key);
          return <Whole model={model} state={props.state} />;
        }}
      </Show>
    </Dialog>
  );
}

function Whole(props: { readonly model: ChartModel; readonly state: MetricsState }): JSX.Element {
  const [height, setHeight] = createSignal(innerHeight);
  const resized = (): void => void setHeight(innerHeight);
  addEventListener('resize', resized);
  onCleanup(() => removeEventListener('resize', resized));
  const range = () => props.state.zoom(props.model.axis());
  return (
    <div class="m-whole">
      <Chart model={props.model} state={props.state} height={Math.max(220, height() - AROUND)} full />
      <div class="m-stats-scroll" tabIndex={0} role="region" aria-label="Numbers">
        <table class="m-stats">
          <caption>{range() ? 'Of the part that is shown' : 'Of everything'}</caption>
          <thead>
            <tr>
              <th scope="col">line</th>
              <For each={['points', 'newest', 'mean', 'min', 'max']}>
                {(name) => <th scope="col">{name}</th>}
              </For>
            </tr>
          </thead>
          <tbody>
            <For each={props.model.stats()}>
              {(row) => (
                <tr>
                  <th scope="row">{row.label}</th>
                  <td>{format.count(row.n)}</td>
                  <td>{format.num(row.last)}</td>
                  <td>{format.num(row.mean)}</td>
                  <td>{format.num(row.min)}</td>
                  <td>{format.num(row.max)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </div>
  );
}
