// What could not be read and was skipped: a badge while there is any, and the report that it opens.

import { For, Show, type JSX } from 'solid-js';
import { Dialog, format } from '../kit';
import { run } from '../state/run';
import { panel, setPanel } from './panel';

export function DamageBadge(): JSX.Element {
  const damaged = (): number => run.damage()?.length ?? 0;
  return (
    <Show when={damaged() > 0}>
      <button
        type="button"
        class="f-alarms"
        aria-haspopup="dialog"
        data-tip="Parts of the run’s files could not be read and were skipped"
        onClick={() => setPanel('damage')}
      >
        <span class="f-alarm k-tone-warning">{format.plural(damaged(), 'damaged file')}</span>
      </button>
    </Show>
  );
}

export function DamagePanel(): JSX.Element {
  return (
    <Dialog title="Damage" side open={panel() === 'damage'} onClose={() => setPanel('none')}>
      <div class="f-findings">
        <p class="k-muted">
          These were skipped; everything beside them is shown. Only hours that some question has read are in
          this list.
        </p>
        <For each={run.damage()} fallback={<p>Nothing that was read by now is damaged.</p>}>
          {(damage) => (
            <article class="f-finding f-finding-warning">
              <header>
                <code>{damage.path}</code>
              </header>
              <p>
                {damage.lines === 0
                  ? 'The file as a whole cannot be read'
                  : `${format.plural(damage.lines, 'line')} skipped, the first at byte ${format.count(damage.first_byte)}`}
                : {damage.reason}
              </p>
            </article>
          )}
        </For>
      </div>
    </Dialog>
  );
}
