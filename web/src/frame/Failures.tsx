// What failed just now, in a bar below the header: what, why, and when it is tried again.

import { createMemo, For, Show, type JSX } from 'solid-js';
import { connection, failures, type Failure } from '../api';
import { Button, RetryCountdown } from '../kit';

interface Group {
  readonly what: string;
  readonly first: Failure;
  readonly all: readonly Failure[];
}

/** Failures with one cause are one line: a server that is gone fails every question. */
export function grouped(all: readonly Failure[]): readonly Group[] {
  const groups = new Map<string, Failure[]>();
  for (const failure of all) {
    const cause = failure.error.status === 0 ? '' : failure.error.message;
    const known = groups.get(cause);
    if (known) known.push(failure);
    else groups.set(cause, [failure]);
  }
  return [...groups.values()].flatMap((list) => {
    const first = list[0];
    if (!first) return [];
    const what =
      list.length > 2 ? `${first.what} and ${list.length - 1} more` : list.map((f) => f.what).join(' and ');
    return [{ what, first, all: list }];
  });
}

export function Failures(): JSX.Element {
  const groups = createMemo(() => grouped([...failures().values()]));
  return (
    <div class="f-failures" aria-live="polite">
      <For each={groups()}>
        {(group) => (
          <div
            class="k-note"
            classList={{
              'k-tone-info': group.first.error.isWaiting,
              'k-tone-critical': !group.first.error.isWaiting,
            }}
          >
            <div>
              <strong>
                {group.first.error.isWaiting
                  ? `Step still being written: ${group.what} cannot be read yet.`
                  : `Could not load ${group.what}.`}
              </strong>{' '}
              {group.first.error.message}
            </div>
            <div class="k-note-actions">
              <RetryCountdown at={group.first.retryAt} />
              <Button
                onClick={() => {
                  for (const failure of group.all) failure.retry();
                }}
              >
                Try again
              </Button>
            </div>
          </div>
        )}
      </For>
      <Show when={connection() === 'lost' && groups().length === 0}>
        <div class="k-note k-tone-warning">
          Not connected: what is shown does not move until the server answers again. Trying …
        </div>
      </Show>
    </div>
  );
}
