// Series of the charts that are near the window, asked for in parts: one question for a dozen metrics of a category, and
// none for those that nobody has scrolled to.

import {
  createEffect,
  createMemo,
  createSignal,
  getOwner,
  onCleanup,
  runWithOwner,
  type Accessor,
} from 'solid-js';
import { api, createQuery, type Bubble, type Metrics, type Query, type Series } from '../../api';
import { run } from '../../state/run';
import { categories, stepKeyOf, type Category } from './categories';
import { shortAddress } from './engines';
import { sameSeries } from './series';

/** Metrics a question: a screenful. */
const PART = 12;

interface Part {
  readonly query: Query<Metrics>;
  readonly join: () => () => void;
}

export interface Store {
  readonly categories: Accessor<readonly Category[]>;
  /** The part that has this metric, and the series when it is there. `near` says whether it is worth asking for. */
  readonly series: (
    key: string,
    near: Accessor<boolean>,
  ) => { query: Query<Metrics>; series: Accessor<Series | undefined> };
  readonly bubbles: Accessor<readonly Bubble[]>;
  /** Short addresses of every engine that a chart has, in order. */
  readonly engines: Accessor<readonly string[]>;
  readonly addEngines: (addresses: readonly string[]) => void;
}

const NO_BUBBLES: readonly Bubble[] = [];

/** Call it in the view: its questions live as long as the view does. */
export function createStore(): Store {
  const owner = getOwner();
  // `dump/*` are listed for every run without metrics, and have no point before the first step.
  const keys = createMemo(() => {
    const listed = run.metricKeys() ?? [];
    return run.ids().train.length > 0 ? listed : listed.filter((key) => !key.startsWith('dump/'));
  });
  const all = createMemo(() => categories(keys(), run.engineMetricKeys() ?? []));
  const parts = new Map<string, Part>();
  const asked = createQuery(() => (run.capabilities()?.has_metrics === true ? api.bubbles() : null), {
    quiet: true,
  });
  const [engines, setEngines] = createSignal<readonly string[]>([]);

  /** The metrics that are asked for together: neighbours in their category, over one step key. */
  const partOf = (key: string): readonly string[] => {
    for (const { name, keys } of all()) {
      if (name === 'sglang' || !keys.includes(key)) continue;
      const at = keys.indexOf(key);
      return keys.slice(at - (at % PART), at - (at % PART) + PART);
    }
    return [key];
  };

  function makePart(keys: readonly string[], stepKey: string): Part {
    const [watchers, setWatchers] = createSignal(0);
    const query = createQuery(() => (watchers() > 0 ? api.metrics(keys, stepKey) : null), { keep: true });
    return {
      query,
      join: () => {
        setWatchers((n) => n + 1);
        return () => setWatchers((n) => n - 1);
      },
    };
  }

  const series: Store['series'] = (key, near) => {
    const part = createMemo(() => {
      const keys = partOf(key);
      const stepKey = stepKeyOf(key);
      const id = `${stepKey} ${keys.join(',')}`;
      const known = parts.get(id);
      if (known) return known;
      const made = runWithOwner(owner, () => makePart(keys, stepKey)) ?? makePart(keys, stepKey);
      parts.set(id, made);
      return made;
    });
    createEffect(() => {
      if (near()) onCleanup(part().join());
    });
    const own = createMemo(() => part().query.data()?.[key], undefined, { equals: sameSeries });
    return {
      get query() {
        return part().query;
      },
      series: own,
    };
  };

  return {
    categories: all,
    series,
    bubbles: () => asked.data()?.bubbles ?? NO_BUBBLES,
    engines,
    addEngines: (addresses) => {
      const known = new Set(engines());
      const size = known.size;
      for (const address of addresses) known.add(shortAddress(address));
      if (known.size > size)
        setEngines([...known].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })));
    },
  };
}
