// What a chart shows, whatever it is made from: one shape for logged metrics and for engines, so that a card, the full
// screen, CSV and PNG know one thing.

import type { Accessor } from 'solid-js';
import type { StepRef } from '../../api';
import type { LineChartData } from '../../kit';
import type { Axis } from './axis';
import type { Stats } from './series';

export interface HoverRow {
  readonly label: string;
  readonly value: string;
  /** Colour of its line. */
  readonly token?: string;
  readonly strong?: boolean;
}

export interface ChartModel {
  readonly key: string;
  readonly axis: Accessor<Axis>;
  readonly data: Accessor<LineChartData>;
  readonly isEmpty: Accessor<boolean>;
  /** Whether an answer is there. */
  readonly isThere: Accessor<boolean>;
  /** Why nothing is there, when it failed: in words. */
  readonly problem: Accessor<string | undefined>;
  /** What must be said of what is drawn, such as an axis that was not the wanted one. */
  readonly note: Accessor<string | undefined>;
  /** For the head of the card: at a point, or the newest. */
  readonly value: (index: number | undefined) => string;
  /** For the card beside the pointer. */
  readonly caption: (index: number) => string;
  readonly rows: (index: number) => readonly HoverRow[];
  readonly stepAt: (index: number) => { readonly step: StepRef; readonly isThere: boolean } | undefined;
  readonly stats: Accessor<readonly (Stats & { readonly label: string })[]>;
  readonly csv: () => { readonly columns: readonly string[]; readonly rows: Iterable<readonly unknown[]> };
}
