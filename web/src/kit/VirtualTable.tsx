// A table of thousands of rows of which only those in sight exist: real table elements, sorting by any number of
// columns, arrow keys over the rows. What is sorted and filtered is the caller's; the address holds it.

import { createEffect, createMemo, createSignal, For, on, Show, type JSX } from 'solid-js';
import { rowWindow } from './rows';
import { nextSort, type Sort } from './sort';

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  /** In plain language. */
  readonly tip?: string;
  /** CSS pixels. */
  readonly width: number;
  /** Numbers to the right. */
  readonly align?: 'left' | 'right';
  readonly cell: (row: Row) => JSX.Element;
  readonly canSort?: boolean;
  /** Below the header, such as a filter. */
  readonly below?: () => JSX.Element;
}

export function VirtualTable<Row>(props: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly rowKey: (row: Row) => string | number;
  readonly sort?: readonly Sort[];
  readonly onSort?: (sort: readonly Sort[]) => void;
  /** Enter or a click. */
  readonly onOpen?: (row: Row, event: MouseEvent | KeyboardEvent) => void;
  readonly rowClass?: (row: Row) => string | undefined;
  /** The row that is marked, by key. */
  readonly selected?: string | number | undefined;
  /** CSS pixels; the table scrolls inside. */
  readonly height: number;
  readonly rowHeight?: number;
  readonly empty?: JSX.Element;
}): JSX.Element {
  const [scroller, setScroller] = createSignal<HTMLDivElement>();
  const [active, setActive] = createSignal(0);
  const rowHeight = (): number => props.rowHeight ?? 26;
  const [top, setTop] = createSignal(0);
  const shown = createMemo(() => rowWindow(props.rows.length, rowHeight(), top(), props.height), undefined, {
    equals: (a, b) => a.first === b.first && a.end === b.end && a.after === b.after && a.before === b.before,
  });
  const indices = createMemo(() => {
    const { first, end } = shown();
    const list: number[] = [];
    for (let at = first; at < end; at += 1) list.push(at);
    return list;
  });
  createEffect(
    on(
      () => props.rows.length,
      (length) => setActive((at) => Math.max(0, Math.min(at, length - 1))),
    ),
  );
  const width = (): number => props.columns.reduce((sum, column) => sum + column.width, 0);

  const showRow = (at: number): void => {
    const frame = scroller();
    if (!frame) return;
    const head = frame.querySelector('thead')?.offsetHeight ?? 0;
    const [from, to] = [at * rowHeight(), (at + 1) * rowHeight()];
    if (from < frame.scrollTop) frame.scrollTop = from;
    else if (to > frame.scrollTop + frame.clientHeight - head)
      frame.scrollTop = to - frame.clientHeight + head;
    setTop(frame.scrollTop);
  };
  const focusRow = (at: number): void => {
    const next = Math.max(0, Math.min(at, props.rows.length - 1));
    setActive(next);
    showRow(next);
    requestAnimationFrame(() => scroller()?.querySelector<HTMLElement>(`tr[data-at="${next}"]`)?.focus());
  };
  const page = (): number => Math.max(1, Math.floor(props.height / rowHeight()) - 2);
  const onKey = (event: KeyboardEvent): void => {
    if (!(event.target instanceof HTMLTableRowElement)) return;
    const moves: Readonly<Record<string, number>> = {
      ArrowDown: active() + 1,
      ArrowUp: active() - 1,
      PageDown: active() + page(),
      PageUp: active() - page(),
      Home: 0,
      End: props.rows.length - 1,
    };
    const row = props.rows[active()];
    if (event.key in moves) focusRow(moves[event.key] ?? 0);
    else if (event.key === 'Enter' && row !== undefined) props.onOpen?.(row, event);
    else return;
    event.preventDefault();
  };
  const ariaSort = (id: string): 'ascending' | 'descending' | 'none' => {
    const first = props.sort?.[0];
    return first?.id !== id ? 'none' : first.down ? 'descending' : 'ascending';
  };
  const mark = (id: string): string => {
    const at = props.sort?.findIndex((each) => each.id === id) ?? -1;
    if (at < 0) return '';
    return `${props.sort?.[at]?.down === true ? '↓' : '↑'}${(props.sort?.length ?? 0) > 1 ? at + 1 : ''}`;
  };

  return (
    <div
      class="k-table-scroll"
      ref={setScroller}
      style={{ height: `${props.height}px` }}
      tabIndex={-1}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
    >
      <table
        class="k-table"
        aria-label={props.label}
        aria-rowcount={props.rows.length + 1}
        style={{ width: `${width()}px` }}
        onKeyDown={onKey}
      >
        <colgroup>
          <For each={props.columns}>{(column) => <col style={{ width: `${column.width}px` }} />}</For>
        </colgroup>
        <thead>
          <tr aria-rowindex={1}>
            <For each={props.columns}>
              {(column) => (
                <th
                  scope="col"
                  aria-sort={column.canSort === false ? undefined : ariaSort(column.id)}
                  classList={{ 'k-right': column.align === 'right' }}
                >
                  <Show
                    when={column.canSort !== false && props.onSort}
                    fallback={<span data-tip={column.tip}>{column.header}</span>}
                  >
                    {(onSort) => (
                      <button
                        type="button"
                        class="k-sort"
                        data-tip={column.tip}
                        onClick={(event) => onSort()(nextSort(props.sort ?? [], column.id, event.shiftKey))}
                      >
                        <span>{column.header}</span>
                        <span class="k-sort-mark" aria-hidden="true">
                          {mark(column.id)}
                        </span>
                      </button>
                    )}
                  </Show>
                  {column.below?.()}
                </th>
              )}
            </For>
          </tr>
        </thead>
        <tbody>
          <tr aria-hidden="true" class="k-space" style={{ height: `${shown().before}px` }} />
          <For each={indices()}>
            {(at) => (
              <Show when={props.rows[at]} keyed>
                {(row) => (
                  <tr
                    data-at={at}
                    aria-rowindex={at + 2}
                    aria-selected={
                      props.selected === undefined ? undefined : props.rowKey(row) === props.selected
                    }
                    class={props.rowClass?.(row)}
                    classList={{ 'k-odd': at % 2 === 1, 'k-openable': props.onOpen !== undefined }}
                    tabIndex={at === active() ? 0 : -1}
                    style={{ height: `${rowHeight()}px` }}
                    onFocus={() => setActive(at)}
                    onClick={(event) => {
                      // Text that is being selected is not a click.
                      if (getSelection()?.isCollapsed === false) return;
                      props.onOpen?.(row, event);
                    }}
                  >
                    <For each={props.columns}>
                      {(column) => (
                        <td classList={{ 'k-right': column.align === 'right' }}>{column.cell(row)}</td>
                      )}
                    </For>
                  </tr>
                )}
              </Show>
            )}
          </For>
          <tr aria-hidden="true" class="k-space" style={{ height: `${shown().after}px` }} />
        </tbody>
      </table>
      <Show when={props.rows.length === 0}>{props.empty}</Show>
    </div>
  );
}
