// What is set in this view. All of it is in the address; what a reader set per category is remembered beside it.

import { createEffect, createMemo, type Accessor } from 'solid-js';
import { createPref } from '../../state/prefs';
import { codecs, params, route, setParams, useParam, type Change } from '../../state/router';
import { zoomParam, type Axis } from './axis';
import type { Range } from '../../kit';

export type XAxis = 'step' | 'time';

/** Parameters that each category has for itself. */
const REMEMBERED = ['q', 'sm', 'x', 'log', 'off', 'dp'] as const;

type Memory = Readonly<Record<string, Readonly<Record<string, string>>>>;

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every((v) => typeof v === 'string');

const [memory, setMemory] = createPref<Memory>('metrics.memory', (stored) =>
  typeof stored === 'object' && stored !== null
    ? Object.fromEntries(
        Object.entries(stored).filter((entry): entry is [string, Record<string, string>] =>
          isTexts(entry[1]),
        ),
      )
    : {},
);
const [lastCategory, setLastCategory] = createPref<string>('metrics.category', (stored) =>
  typeof stored === 'string' ? stored : '',
);
const [pinPref, setPinPref] = createPref<readonly string[]>('metrics.pins', (stored) =>
  Array.isArray(stored) ? stored.filter((key) => typeof key === 'string') : [],
);

export interface MetricsState {
  readonly category: Accessor<string>;
  readonly setCategory: (name: string) => void;
  readonly text: Accessor<string>;
  readonly setText: (text: string) => void;
  readonly x: Accessor<XAxis>;
  readonly setX: (x: XAxis) => void;
  /** Weight of what was before, 0 to 0.99. */
  readonly smoothing: Accessor<number>;
  readonly setSmoothing: (weight: number) => void;
  readonly isLog: (key: string) => boolean;
  readonly toggleLog: (key: string) => void;
  readonly pins: Accessor<readonly string[]>;
  readonly togglePin: (key: string) => void;
  /** The chart that fills the window. */
  readonly full: Accessor<string>;
  readonly setFull: (key: string) => void;
  readonly zoom: (axis: Axis) => Range | undefined;
  readonly setZoom: (axis: Axis, range: Range | undefined, how?: Change) => void;
  readonly isZoomed: Accessor<boolean>;
  readonly resetZoom: () => void;
  /** Engines that are switched off, by short address. */
  readonly off: Accessor<readonly string[]>;
  readonly setOff: (addresses: readonly string[]) => void;
  readonly perRank: Accessor<boolean>;
  readonly setPerRank: (apart: boolean) => void;
}

const toggled = (list: readonly string[], key: string): readonly string[] =>
  list.includes(key) ? list.filter((each) => each !== key) : [...list, key];

/** `names` are the categories of the run, in order. */
export function createState(names: Accessor<readonly string[]>): MetricsState {
  const [asked] = useParam('c', codecs.text, '');
  const [text, setText] = useParam('q', codecs.text, '');
  const [x, setX] = useParam<XAxis>('x', codecs.choice<XAxis>('step', 'time'), 'step');
  const [smoothing, setSmoothing] = useParam('sm', codecs.number, 0);
  const [log, setLog] = useParam('log', codecs.list, []);
  const [full, setFull] = useParam('full', codecs.text, '');
  const [off, setOff] = useParam('off', codecs.list, []);
  const [perRank, setPerRank] = useParam('dp', codecs.flag, false);

  const category = createMemo(() => {
    const known = names();
    // A link to a category that this run lacks, and a fresh start, lead to one that is there.
    return [asked(), lastCategory()].find((name) => known.includes(name)) ?? known[0] ?? '';
  });
  const remember = (): void => {
    const now = params();
    const kept = REMEMBERED.flatMap((name) => (now[name] === undefined ? [] : [[name, now[name]] as const]));
    setMemory({ ...memory(), [category()]: Object.fromEntries(kept) });
  };
  const setCategory = (name: string): void => {
    remember();
    setLastCategory(name);
    const own = memory()[name] ?? {};
    setParams({ c: name, ...Object.fromEntries(REMEMBERED.map((each) => [each, own[each] ?? null])) });
  };
  // A fresh start has what this category had last.
  if (route().view === 'metrics' && Object.keys(params()).length === 0) {
    setParams({ ...memory()[lastCategory()] }, { replace: true });
  }
  // The pins of a link are shown; without any one's own are, and then the address has them.
  createEffect(() => {
    if (route().view === 'metrics' && params().pin === undefined && pinPref().length > 0) {
      setParams({ pin: pinPref().join(',') }, { replace: true });
    }
  });

  const pins = createMemo(() => (params().pin ?? pinPref().join(',')).split(',').filter(Boolean), undefined, {
    equals: (a, b) => a.join() === b.join(),
  });
  const zoom = (axis: Axis): Range | undefined => {
    const written = params()[zoomParam(axis)];
    return written === undefined ? undefined : codecs.range.read(written);
  };
  const zooms = (): string[] => Object.keys(params()).filter((name) => name.startsWith('z_'));
  return {
    category,
    setCategory,
    text,
    setText: (next) => setText(next, { replace: true }),
    x,
    setX,
    smoothing: () => Math.min(0.99, Math.max(0, smoothing())),
    setSmoothing: (weight) => setSmoothing(weight, { replace: true }),
    isLog: (key) => log().includes(key),
    toggleLog: (key) => setLog(toggled(log(), key)),
    pins,
    togglePin: (key) => {
      const next = toggled(pins(), key);
      setPinPref(next);
      setParams({ pin: next.join(',') });
    },
    full,
    setFull,
    zoom,
    setZoom: (axis, range, how) =>
      setParams({ [zoomParam(axis)]: range ? codecs.range.write(range) : null }, how),
    isZoomed: () => zooms().length > 0,
    resetZoom: () => setParams(Object.fromEntries(zooms().map((name) => [name, null]))),
    off,
    setOff,
    perRank,
    setPerRank,
  };
}
