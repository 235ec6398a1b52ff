// The frame around the views: header, failures, the view of the address. Each view is a folder and a chunk of its own.

import { lazy, Match, Suspense, Switch, type JSX } from 'solid-js';
import { installTooltips } from '../kit/tooltip';
import { Loading } from '../kit';
import { listenToKeys } from '../state/keys';
import { route } from '../state/router';
import { Header } from './Header';

const Metrics = lazy(() => import('../views/metrics'));
const Compute = lazy(() => import('../views/compute'));
const Rollouts = lazy(() => import('../views/rollouts'));
const Sample = lazy(() => import('../views/sample'));

export function App(): JSX.Element {
  installTooltips();
  listenToKeys();
  return (
    <>
      <Header />
      <main id="view" class="f-main" tabIndex={-1}>
        <Suspense fallback={<Loading what="the view" />}>
          <Switch>
            <Match when={route().view === 'metrics'}>
              <Metrics />
            </Match>
            <Match when={route().view === 'compute'}>
              <Compute />
            </Match>
            <Match when={route().view === 'rollouts'}>
              <Rollouts />
            </Match>
            <Match when={route().view === 'sample'}>
              <Sample />
            </Match>
          </Switch>
        </Suspense>
      </main>
    </>
  );
}
