// The header: name of the run, views, and what is true everywhere.

import { For, type JSX } from 'solid-js';
import { lastAddress, route } from '../state/router';
import { run } from '../state/run';
import './frame.css';

const VIEWS = [
  { view: 'metrics', label: 'Metrics' },
  { view: 'compute', label: 'Compute' },
  { view: 'rollouts', label: 'Rollouts' },
] as const;

export function Header(): JSX.Element {
  return (
    <header class="f-header">
      <h1 class="f-name">{run.name() ?? 'miles'}</h1>
      <nav aria-label="Views" class="f-views">
        <For each={VIEWS}>
          {({ view, label }) => (
            <a
              href={lastAddress(view)}
              aria-current={
                route().view === view || (view === 'rollouts' && route().view === 'sample')
                  ? 'page'
                  : undefined
              }
            >
              {label}
            </a>
          )}
        </For>
      </nav>
    </header>
  );
}
