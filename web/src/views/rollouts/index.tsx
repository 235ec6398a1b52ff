// The view Rollouts: one step's samples in numbers, over time, as a table, by group, and by what they say.

import {
  createEffect,
  createMemo,
  createSignal,
  For,
  lazy,
  Match,
  onCleanup,
  Show,
  Switch,
  type JSX,
} from 'solid-js';
import { api, createQuery, type StepRef } from '../../api';
import {
  Answer,
  Button,
  Chip,
  download,
  Empty,
  format,
  Panel,
  readSort,
  Select,
  sortRows,
  Tabs,
  toCsv,
  writeSort,
  type Sort,
} from '../../kit';
import { createPref } from '../../state/prefs';
import { codecs, navigate, route, setParams, useParam } from '../../state/router';
import { run } from '../../state/run';
import { Anatomy } from './Anatomy';
import { cellNumber, columnSpec, type Row } from './columns';
import { filterRows, filtersCodec, type Filters } from './filters';
import { GroupDialog, GroupsTable } from './Groups';
import { Histogram } from './Histogram';
import { ColumnChooser, SamplesTable } from './Samples';
import { Scatter } from './Scatter';
import { StepNav } from './StepNav';
import { Tiles } from './Tiles';
import './rollouts.css';

const TextSearch = lazy(() => import('./TextSearch').then((part) => ({ default: part.TextSearch })));

type Tab = 'samples' | 'anatomy' | 'groups' | 'text';

const CHART_HEIGHT = 210;
const LEAST_TABLE = 320;

export default function Rollouts(): JSX.Element {
  const step = createMemo<StepRef | undefined>(
    () => {
      const here = route();
      return here.view === 'rollouts' ? (here.step ?? run.newestStep()) : undefined;
    },
    undefined,
    { equals: (a, b) => a?.id === b?.id && a?.evaluation === b?.evaluation },
  );
  return (
    <Show
      when={step()}
      fallback={
        <Show when={run.meta()}>
          <Empty title="No step can be read yet">
            Samples come from the dumps of a run that was started with <code>--dump-details</code>: one file a
            step in <code>rollout_data</code>. A file shows up here some seconds after it was written.
          </Empty>
        </Show>
      }
    >
      {(known) => <Step step={known()} />}
    </Show>
  );
}

function Step(props: { readonly step: StepRef }): JSX.Element {
  const summary = createQuery(() => api.summary(props.step));
  const groups = createQuery(() => api.groups(props.step));
  const [tab] = useParam<Tab>('tab', codecs.choice('samples', 'anatomy', 'groups', 'text'), 'samples');
  const [filters, setFilters] = useParam<Filters>('f', filtersCodec, {});
  const [sortText, setSort] = useParam('sort', codecs.text, '');
  const [columnIds, setColumnIds] = useParam('cols', codecs.list, []);
  const [x, setX] = useParam('x', codecs.text, 'response_length');
  const [y, setY] = useParam('y', codecs.text, 'mean_abs_lp_diff');
  const [histogramOf, setHistogramOf] = useParam('h', codecs.text, 'response_length');
  const [charts, setCharts] = createPref('rollouts.charts', (stored) => stored !== false);
  const [group, setGroup] = useParam<number | null>('group', codecs.number as never, null);
  const [choosing, setChoosing] = createSignal(false);
  const [room, setRoom] = createSignal(innerHeight);
  const resized = (): void => void setRoom(innerHeight);
  addEventListener('resize', resized);
  onCleanup(() => removeEventListener('resize', resized));

  const trajectories = createQuery(() =>
    tab() === 'anatomy' && !props.step.evaluation ? api.trajectories(props.step.id) : null,
  );

  const rows = createMemo(() => (summary.data()?.rows ?? []) as readonly Row[]);
  const specs = createMemo(() => (summary.data()?.columns ?? []).map((id) => columnSpec(id, rows())));
  const empty = createMemo(
    () =>
      new Set(specs().flatMap(({ id }) => (rows().some((row) => (row[id] ?? null) !== null) ? [] : [id]))),
  );
  const shownIds = createMemo(() => {
    const chosen = columnIds();
    return chosen.length > 0
      ? chosen
      : specs()
          .filter((spec) => spec.first && !empty().has(spec.id))
          .map((spec) => spec.id);
  });
  const shownSpecs = createMemo(() => specs().filter((spec) => shownIds().includes(spec.id)));
  const plottable = createMemo(() =>
    specs().filter((spec) => rows().some((row) => cellNumber(row[spec.id]) !== null)),
  );
  // An evaluation has nothing of the trainer's.
  const shownY = (): string =>
    y() === 'mean_abs_lp_diff' && empty().has('mean_abs_lp_diff') ? 'reward' : y();
  const sort = createMemo(() => readSort(sortText()));
  const filtered = createMemo(() => filterRows(rows(), filters()));
  const isFiltered = (): boolean => filtered() !== rows();
  const sorted = createMemo(() =>
    sortRows(filtered(), sort(), (row, id) => row[id] as string | number | boolean | null),
  );
  const shownSet = createMemo(() => new Set(filtered()));
  const keep = createMemo(() =>
    isFiltered() ? new Set(filtered().flatMap((row) => row.sample_index ?? [])) : undefined,
  );

  const filter = (changes: Readonly<Record<string, string>>, replace = false): void => {
    const next: Record<string, string> = { ...filters() };
    for (const [id, expression] of Object.entries(changes)) {
      next[id] = expression;
    }
    setFilters(Object.fromEntries(Object.entries(next).filter(([, expression]) => expression !== '')), {
      replace,
    });
  };
  const open = (index: number | null): void => {
    if (index !== null) navigate({ view: 'sample', step: props.step, index });
  };
  const tableHeight = (): number =>
    Math.max(LEAST_TABLE, room() - (charts() ? 528 : 246) - (Object.keys(filters()).length > 0 ? 40 : 0));
  const bodyHeight = (): number => Math.max(LEAST_TABLE, room() - 246);
  /** Its own head and margins. */
  const anatomyHeight = (): number => bodyHeight() - 76;
  const name = (): string => `${props.step.evaluation ? 'eval' : 'step'}-${props.step.id}-samples`;
  const cells = (): readonly (readonly unknown[])[] => {
    const ids = specs().map((spec) => spec.id);
    return sorted().map((row) => ids.map((id) => row[id] ?? null));
  };
  const exportAs = async (kind: string): Promise<void> => {
    const ids = specs().map((spec) => spec.id);
    if (kind === 'csv') download(`${name()}.csv`, toCsv(ids, cells()), 'text/csv');
    else if (kind === 'jsonl') {
      const lines = sorted().map((row) =>
        JSON.stringify(Object.fromEntries(ids.map((id) => [id, row[id] ?? null]))),
      );
      download(`${name()}.jsonl`, `${lines.join('\n')}\n`, 'application/jsonl');
    } else {
      const { toParquet } = await import('./parquet');
      download(`${name()}.parquet`, new Blob([toParquet(ids, cells() as never)]));
    }
  };
  const options = (): readonly { value: string; label: string; tip: string }[] =>
    plottable().map(({ id, tip }) => ({ value: id, label: id, tip }));
  // The groups dialog and the tabs keep the filters, but a time window belongs to its step.
  createEffect<StepRef>((before) => {
    const now = props.step;
    if (before !== undefined && before !== now) setParams({ t: null, group: null }, { replace: true });
    return now;
  });

  return (
    <div class="r-view">
      <div class="r-top">
        <StepNav step={props.step} />
        <div class="r-top-right">
          <Select
            label="Export"
            value=""
            options={[
              { value: '', label: `Export ${format.plural(filtered().length, 'row')} …` },
              { value: 'csv', label: 'CSV' },
              { value: 'jsonl', label: 'JSONL' },
              { value: 'parquet', label: 'Parquet' },
            ]}
            onChange={(kind: string) => {
              if (kind !== '') void exportAs(kind);
            }}
          />
        </div>
      </div>
      <Answer query={summary} what={`samples of step ${props.step.id}`} height={400}>
        {() => (
          <>
            <Tiles
              rows={rows()}
              groups={groups.data()?.rows}
              evaluation={props.step.evaluation}
              filters={filters()}
              onFilter={(id, expression) => filter({ [id]: expression })}
              onGroups={() => setParams({ tab: 'groups', sort: '-zero_std' })}
            />
            <div class="r-tabs">
              <Tabs<Tab>
                label="What is shown of the step"
                value={tab()}
                onChange={(next) => setParams({ tab: next === 'samples' ? null : next, sort: null })}
                tabs={[
                  { value: 'samples', label: 'Samples', count: format.count(rows().length) },
                  { value: 'anatomy', label: 'Batch anatomy' },
                  {
                    value: 'groups',
                    label: 'Groups',
                    count: groups.data() && format.count(groups.data()?.rows.length),
                  },
                  { value: 'text', label: 'Text search' },
                ]}
              />
              <Show when={tab() === 'samples'}>
                <div class="r-tab-actions">
                  <Button look="quiet" pressed={charts()} onClick={() => setCharts(!charts())}>
                    Charts
                  </Button>
                  <Button look="quiet" onClick={() => setChoosing(true)}>
                    Columns {shownIds().length}/{specs().length}
                  </Button>
                </div>
              </Show>
            </div>
            <Show when={Object.keys(filters()).length > 0 && tab() !== 'groups'}>
              <div class="r-filters" role="status">
                <strong>
                  {format.count(filtered().length)} of {format.plural(rows().length, 'sample')}
                </strong>
                <For each={Object.entries(filters())}>
                  {([id, expression]) => (
                    <Chip tone="accent" name={id} onRemove={() => filter({ [id]: '' })}>
                      {expression}
                    </Chip>
                  )}
                </For>
                <Button look="quiet" onClick={() => setFilters({})}>
                  Clear
                </Button>
              </div>
            </Show>
            <div role="tabpanel" aria-label={tab()}>
              <Switch>
                <Match when={tab() === 'samples'}>
                  <Show when={charts()}>
                    <div class="r-charts">
                      <Panel
                        title="Scatter"
                        tip="Blue: reward above 0, orange: 0 or less. Drag a box to filter the table to it, double click to undo, click a point to open its sample."
                        actions={
                          <>
                            <Select
                              label="y"
                              showLabel
                              value={shownY()}
                              options={options()}
                              onChange={(id) => setY(id)}
                            />
                            <Select
                              label="x"
                              showLabel
                              value={x()}
                              options={options()}
                              onChange={(id) => setX(id)}
                            />
                          </>
                        }
                      >
                        <Scatter
                          rows={rows()}
                          shown={shownSet()}
                          x={x()}
                          y={shownY()}
                          filters={filters()}
                          height={CHART_HEIGHT}
                          onBrush={(changes) => filter(changes)}
                          onOpen={(row) => open(row.sample_index)}
                        />
                      </Panel>
                      <Panel
                        title="Histogram"
                        tip="Grey: all samples, blue: those that pass the filters. Drag to filter to a range, double click to undo."
                        actions={
                          <Select
                            label="of"
                            showLabel
                            value={histogramOf()}
                            options={options()}
                            onChange={(id) => setHistogramOf(id)}
                          />
                        }
                      >
                        <Histogram
                          rows={rows()}
                          shown={filtered()}
                          column={histogramOf()}
                          filters={filters()}
                          height={CHART_HEIGHT}
                          onBrush={(expression) => filter({ [histogramOf()]: expression })}
                        />
                      </Panel>
                    </div>
                  </Show>
                  <SamplesTable
                    step={props.step}
                    rows={sorted()}
                    columns={shownSpecs()}
                    sort={sort()}
                    onSort={(next: readonly Sort[]) => setSort(writeSort(next))}
                    filters={filters()}
                    onFilter={(id, expression) => filter({ [id]: expression }, true)}
                    height={tableHeight()}
                    total={rows().length}
                    onOpen={(row) => open(row.sample_index)}
                  />
                  <ColumnChooser
                    open={choosing()}
                    onClose={() => setChoosing(false)}
                    all={specs()}
                    chosen={shownIds()}
                    isEmpty={(id) => empty().has(id)}
                    onChoose={(ids) => setColumnIds(ids, { replace: true })}
                  />
                </Match>
                <Match when={tab() === 'anatomy' && props.step.evaluation}>
                  <Empty title="No batch anatomy of an evaluation">
                    Events of samples are recorded for train steps.
                  </Empty>
                </Match>
                <Match when={tab() === 'anatomy'}>
                  <Answer query={trajectories} what="trajectories" height={300}>
                    {(data) => (
                      <Show
                        when={data().lanes.length > 0}
                        fallback={
                          <Empty title="No events of these samples">
                            Batch anatomy is drawn from the stream <code>trajectories</code>, which a run
                            records with <code>--use-miles-dashboard</code>; it looks at the 4 h before
                            training took the step.
                          </Empty>
                        }
                      >
                        <Anatomy
                          step={props.step}
                          data={data()}
                          rows={rows()}
                          keep={keep()}
                          height={anatomyHeight()}
                          onOpen={open}
                        />
                      </Show>
                    )}
                  </Answer>
                </Match>
                <Match when={tab() === 'groups'}>
                  <Answer query={groups} what="groups">
                    {(data) => (
                      <GroupsTable
                        groups={data().rows}
                        rows={rows()}
                        sort={sort()}
                        onSort={(next) => setSort(writeSort(next))}
                        height={bodyHeight()}
                        selected={group()}
                        onOpen={(id) => setGroup(id)}
                      />
                    )}
                  </Answer>
                </Match>
                <Match when={tab() === 'text'}>
                  <TextSearch step={props.step} rows={sorted()} total={rows().length} />
                </Match>
              </Switch>
            </div>
            <GroupDialog
              step={props.step}
              group={group()}
              rows={rows()}
              zero={groups.data()?.rows.find((row) => row.group_index === group())?.zero_std === true}
              onClose={() => setGroup(null)}
            />
          </>
        )}
      </Answer>
    </div>
  );
}
