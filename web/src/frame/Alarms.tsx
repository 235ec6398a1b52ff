// What the rules say of the run: a badge that counts by level, and the panel that it opens.

import { createMemo, createRoot, For, Show, type JSX } from 'solid-js';
import { api, createQuery, type Finding, type Level, type StepRef } from '../api';
import { Answer, Chip, Dialog, format, Icon } from '../kit';
import { href } from '../state/router';
import { evidenceRows } from './evidence';
import { panel, setPanel } from './panel';

const LEVELS: readonly Level[] = ['critical', 'warning', 'info'];
const query = createRoot(() => createQuery(() => api.advisory()));

/** `findings` has the rules of the recorded answers and every later one. */
export const findings = (): readonly Finding[] => query.data()?.findings ?? [];
export const mfu = () => query.data()?.mfu ?? undefined;

export function AlarmBadge(): JSX.Element {
  const counts = createMemo(() =>
    LEVELS.map((level) => ({ level, n: findings().filter((f) => f.level === level).length })).filter(
      ({ n }) => n > 0,
    ),
  );
  const label = (): string =>
    counts().length === 0
      ? query.data()
        ? 'No advisories'
        : 'Advisories'
      : `Advisories: ${counts()
          .map(({ level, n }) => `${n} ${level}`)
          .join(', ')}`;
  return (
    <button
      type="button"
      class="f-alarms"
      aria-haspopup="dialog"
      aria-label={label()}
      data-tip={`${label()} (a)`}
      onClick={() => setPanel('alarms')}
    >
      <For
        each={counts()}
        fallback={<span class="f-quiet">{query.data() ? <Icon name="check" /> : '…'}</span>}
      >
        {({ level, n }) => (
          <span class={`f-alarm k-tone-${level}`}>
            <Icon name={level} />
            {n}
          </span>
        )}
      </For>
    </button>
  );
}

export function AlarmPanel(): JSX.Element {
  return (
    <Dialog title="Advisories" side open={panel() === 'alarms'} onClose={() => setPanel('none')}>
      <Answer query={query} what="advisories">
        {(data) => (
          <div class="f-findings">
            <Show when={data().mfu}>
              {(m) => (
                <p class="k-muted">
                  MFU: latest {format.percent(m().latest)}, mean {format.percent(m().mean)} of{' '}
                  {format.plural(m().steps, 'step')}
                  <Show when={m().peak}>{(peak) => <> at a peak of {format.count(peak())} TFLOPS</>}</Show>
                </p>
              )}
            </Show>
            <For
              each={data().findings}
              fallback={
                <p>
                  No rule has anything to say. A rule that lacks what it needs is silent: without telemetry
                  (--use-miles-dashboard) only those about samples can speak.
                </p>
              }
            >
              {(finding) => <FindingCard finding={finding} />}
            </For>
            <p class="f-small">
              Alarms come first; tuning advice is given only while no alarm is active, because low utilisation
              means opposite things on a healthy run and on a starved one.
            </p>
          </div>
        )}
      </Answer>
    </Dialog>
  );
}

export function FindingCard(props: { readonly finding: Finding }): JSX.Element {
  const rows = createMemo(() => evidenceRows(props.finding.evidence));
  const step = createMemo((): StepRef | undefined => {
    const id = props.finding.rollout_id;
    return typeof id === 'number' ? { id, evaluation: false } : undefined;
  });
  return (
    <article class={`f-finding f-finding-${props.finding.level}`}>
      <header>
        <Chip tone={props.finding.level}>{props.finding.level}</Chip>
        <code>{props.finding.rule}</code>
      </header>
      <p class="f-finding-message">{props.finding.message}</p>
      <Show when={props.finding.hint}>
        {(hint) => (
          <p>
            <strong>What to do:</strong> {hint()}
          </p>
        )}
      </Show>
      <Show when={rows().length > 0}>
        <table class="f-evidence">
          <caption class="visually-hidden">Evidence</caption>
          <tbody>
            <For each={rows()}>
              {(row) => (
                <tr>
                  <th scope="row">{row.name}</th>
                  <td>{row.value}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </Show>
      <footer>
        <Show when={props.finding.window}>
          {(window) => (
            <a href={href({ view: 'compute' }, { t: `${window()[0]},${window()[1]}` })}>
              judged {format.dateTime(window()[0])} to {format.clock(window()[1])} (
              {format.duration(window()[1] - window()[0])})
            </a>
          )}
        </Show>
        <Show when={step()} keyed>
          {(ref) => <a href={href({ view: 'rollouts', step: ref })}>open step {ref.id}</a>}
        </Show>
      </footer>
    </article>
  );
}
