// The samples of a step as a table: any columns, sorted by any number of them, a filter below each header.

import { createMemo, For, Show, type JSX } from 'solid-js';
import type { StepRef } from '../../api';
import { Button, Checkbox, Dialog, VirtualTable, writeSort, type Column, type Sort } from '../../kit';
import { href } from '../../state/router';
import { cellText, isNumeric, type ColumnSpec, type Row } from './columns';
import { parseFilter, type Filters } from './filters';

export function SamplesTable(props: {
  readonly step: StepRef;
  readonly rows: readonly Row[];
  readonly columns: readonly ColumnSpec[];
  readonly sort: readonly Sort[];
  readonly onSort: (sort: readonly Sort[]) => void;
  readonly filters: Filters;
  readonly onFilter: (id: string, expression: string) => void;
  readonly height: number;
  readonly total: number;
  readonly onOpen: (row: Row, event: MouseEvent | KeyboardEvent) => void;
}): JSX.Element {
  const columns = createMemo((): readonly Column<Row>[] =>
    props.columns.map((spec) => ({
      id: spec.id,
      header: spec.id,
      tip: `${spec.id}\n${spec.tip}`,
      width: Math.max(spec.kind === 'text' ? 96 : 84, Math.round(spec.id.length * 7.8) + 44),
      align: isNumeric(spec.kind) ? 'right' : 'left',
      cell: cellOf(spec, props.step),
      below: () => (
        <FilterField
          spec={spec}
          value={props.filters[spec.id] ?? ''}
          onInput={(expression) => props.onFilter(spec.id, expression)}
        />
      ),
    })),
  );
  return (
    <div class="r-samples">
      <VirtualTable
        label={`Samples of step ${props.step.id}, sorted by ${writeSort(props.sort) || 'file order'}`}
        rows={props.rows}
        columns={columns()}
        rowKey={(row) => row.sample_index ?? -1}
        sort={props.sort}
        onSort={(sort) => props.onSort(sort)}
        onOpen={(row, event) => props.onOpen(row, event)}
        rowClass={(row) =>
          row.remove_sample === true ? 'r-removed' : row.alignment_failed ? 'r-unplaced' : undefined
        }
        height={props.height}
        empty={<p class="r-none">No sample of {props.total} passes the filters.</p>}
      />
    </div>
  );
}

/** Columns in which yes is worth seeing. */
const FLAGS = new Set(['truncated', 'mixed_version', 'alignment_failed', 'remove_sample']);

/** What makes a column's cells. Rows never change, so cells are plain text wherever they can be: a scroll makes
 * hundreds of them a frame. */
function cellOf(spec: ColumnSpec, step: StepRef): (row: Row) => JSX.Element {
  if (spec.id === 'sample_index') return (row) => <IndexCell row={row} step={step} />;
  return (row) => {
    const value = row[spec.id];
    const text = cellText(spec.kind, value);
    const isDim = value === null || value === undefined || value === false;
    const looks = value === true && FLAGS.has(spec.id) ? 'r-yes' : isDim ? 'r-dim' : undefined;
    // eslint-disable-next-line solid/components-return-once -- a cell is made once, of a row that never changes
    return looks === undefined ? text : <span class={looks}>{text}</span>;
  };
}

function IndexCell(props: { readonly row: Row; readonly step: StepRef }): JSX.Element {
  return (
    <>
      <Show when={props.row.remove_sample === true}>
        <span class="r-flag" data-tip="Removed: takes no part in training, its loss mask is 0 throughout">
          removed
        </span>
      </Show>
      <Show when={props.row.sample_index !== null} fallback={<span class="r-dim">–</span>}>
        <a
          class="r-open"
          tabIndex={-1}
          href={href({ view: 'sample', step: props.step, index: props.row.sample_index ?? 0 })}
          onClick={(event) => event.stopPropagation()}
        >
          {props.row.sample_index}
        </a>
      </Show>
    </>
  );
}

function FilterField(props: {
  readonly spec: ColumnSpec;
  readonly value: string;
  readonly onInput: (expression: string) => void;
}): JSX.Element {
  const problem = (): string | undefined => {
    const parsed = parseFilter(props.value, props.spec.kind);
    return parsed && 'problem' in parsed ? parsed.problem : undefined;
  };
  const hint = (): string =>
    props.spec.kind === 'boolean'
      ? 'yes, no, none'
      : isNumeric(props.spec.kind)
        ? '0.5..1, >0.5, <=2, !=0, none, any'
        : 'text in it, !text, =exact, none, any';
  return (
    <input
      class="r-filter"
      aria-label={`Filter ${props.spec.id}: ${hint()}`}
      aria-invalid={problem() !== undefined}
      data-tip={problem() === undefined ? `Filter: ${hint()}` : `Not understood: write ${problem() ?? ''}`}
      placeholder="filter"
      spellcheck={false}
      autocomplete="off"
      value={props.value}
      onInput={(event) => props.onInput(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key === 'Escape') {
          if (props.value === '') event.currentTarget.blur();
          else props.onInput('');
        }
      }}
    />
  );
}

/** Which columns are shown. */
export function ColumnChooser(props: {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly all: readonly ColumnSpec[];
  readonly chosen: readonly string[];
  readonly isEmpty: (id: string) => boolean;
  readonly onChoose: (ids: readonly string[]) => void;
}): JSX.Element {
  const set = (id: string, on: boolean): void =>
    props.onChoose(
      props.all.map((spec) => spec.id).filter((each) => (each === id ? on : props.chosen.includes(each))),
    );
  return (
    <Dialog title="Columns" open={props.open} onClose={() => props.onClose()} side>
      <div class="r-chooser-bar">
        <Button onClick={() => props.onChoose(props.all.map((spec) => spec.id))}>All</Button>
        <Button onClick={() => props.onChoose([])}>As at first</Button>
      </div>
      <ul class="r-chooser">
        <For each={props.all}>
          {(spec) => (
            <li>
              <Checkbox
                label={<code>{spec.id}</code>}
                checked={props.chosen.includes(spec.id)}
                onChange={(on) => set(spec.id, on)}
              />
              <p>
                {spec.tip}
                {props.isEmpty(spec.id) ? ' Missing throughout this step.' : ''}
              </p>
            </li>
          )}
        </For>
      </ul>
    </Dialog>
  );
}
