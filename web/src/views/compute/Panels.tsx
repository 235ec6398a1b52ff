// Model FLOPs utilisation and advisories: which rule spoke, on what evidence, over which window.

import { createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { api, createQuery, type Finding, type Level, type Metrics } from '../../api';
import {
  Answer,
  Button,
  Chip,
  Empty,
  format,
  LineChart,
  Panel,
  Segmented,
  type LineChartData,
} from '../../kit';
import { href } from '../../state/router';
import { run } from '../../state/run';
import { evidenceText } from './evidence';
import { useCompute } from './state';
import { timeText } from './ticks';

const MFU_KEY = 'perf/actor_train_mfu';
const LEVELS: readonly Level[] = ['critical', 'warning', 'info'];

export function Panels(): JSX.Element {
  const state = useCompute();
  const [judged, setJudged] = createSignal<'run' | 'window'>('run');
  const advisory = createQuery(() => {
    if (judged() === 'run') return api.advisory();
    const [t0, t1] = state.settled();
    return api.advisory({ t0: Math.floor(t0), t1: Math.ceil(t1) });
  });
  const findings = (): readonly Finding[] =>
    LEVELS.flatMap((level) => (advisory.data()?.findings ?? []).filter((each) => each.level === level));
  const series = createQuery<Metrics>(() =>
    run.metricKeys()?.includes(MFU_KEY) === true ? api.metrics([MFU_KEY], 'rollout/step') : null,
  );
  const chart = createMemo((): LineChartData | undefined => {
    const line = series.data()?.[MFU_KEY];
    if (!line || line.x.length < 2) return undefined;
    const y = line.y.map((value) => (typeof value === 'number' ? value : null));
    return { x: line.x, lines: [{ label: 'MFU', token: 'series-1', y, width: 1.5 }] };
  });

  return (
    <div class="c-panels">
      <Panel
        title="MFU"
        class="c-mfu"
        tip="model FLOPs utilization of actor_train: the FLOPs that the model needs, over what the GPUs could have done in that time"
      >
        <Answer query={advisory} what="MFU">
          {(data) => (
            <Show
              when={data().mfu}
              fallback={<Empty title="No MFU">perf/actor_train_mfu was never logged.</Empty>}
            >
              {(mfu) => (
                <>
                  <dl class="c-tiles">
                    <Tile name="latest" value={format.percent(mfu().latest)} tip="of the newest step" />
                    <Tile
                      name="mean"
                      value={format.percent(mfu().mean)}
                      tip="of all steps but the first, which compiles and warms up"
                    />
                    <Tile name="steps" value={format.count(mfu().steps)} tip="that the mean is made of" />
                    <Tile
                      name="peak"
                      value={mfu().peak === null ? format.MISSING : `${format.num(mfu().peak)} TFLOP/s`}
                      tip="of one GPU, as the run was told or found"
                    />
                  </dl>
                  <Show when={chart()}>
                    {(made) => (
                      <LineChart
                        label="MFU by step"
                        data={made()}
                        height={112}
                        formatY={(value) => format.percent(value, 0)}
                      />
                    )}
                  </Show>
                </>
              )}
            </Show>
          )}
        </Answer>
      </Panel>
      <Panel
        title="Advisories"
        class="c-advisories"
        tip="what rules find in this run; alarms first, tuning advice only when no alarm is active"
        actions={
          <Segmented
            label="What is judged"
            value={judged()}
            onChange={setJudged}
            options={[
              { value: 'run', label: 'Whole run' },
              {
                value: 'window',
                label: 'Shown window',
                tip: 'rules on engines look at the shown window only',
              },
            ]}
          />
        }
      >
        <Answer query={advisory} what="advisories">
          {() => (
            <Show
              when={findings().length > 0}
              fallback={<Empty title="Nothing to say">No rule fires.</Empty>}
            >
              <ul class="c-findings">
                <For each={findings()}>{(finding) => <FindingItem finding={finding} />}</For>
              </ul>
            </Show>
          )}
        </Answer>
      </Panel>
    </div>
  );
}

function Tile(props: { readonly name: string; readonly value: string; readonly tip: string }): JSX.Element {
  return (
    <div data-tip={props.tip}>
      <dt>{props.name}</dt>
      <dd>{props.value}</dd>
    </div>
  );
}

function FindingItem(props: { readonly finding: Finding }): JSX.Element {
  const state = useCompute();
  return (
    <li>
      <div class="c-finding-head">
        <Chip tone={props.finding.level}>{props.finding.level}</Chip>
        <code>{props.finding.rule}</code>
        <Show when={props.finding.window}>
          {(judged) => (
            <Button
              look="quiet"
              tip="zoom to the window that the rule judged"
              onClick={() => state.zoomTo(judged())}
            >
              judged {timeText(judged()[0], state.origin())} – {timeText(judged()[1], state.origin())}
            </Button>
          )}
        </Show>
        <Show when={props.finding.rollout_id !== undefined ? props.finding.rollout_id : null}>
          {(id) => (
            <a href={href({ view: 'rollouts', step: { id: id(), evaluation: false } })}>judged step {id()}</a>
          )}
        </Show>
        <Show when={props.finding.rollout_id === 0}>
          <a href={href({ view: 'rollouts', step: { id: 0, evaluation: false } })}>judged step 0</a>
        </Show>
      </div>
      <p>{props.finding.message}</p>
      <Show when={props.finding.hint}>{(hint) => <p class="c-quiet">→ {hint()}</p>}</Show>
      <Show when={props.finding.evidence}>
        {(evidence) => (
          <dl class="c-evidence">
            <For each={evidenceText(evidence())}>
              {([name, value]) => (
                <div>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              )}
            </For>
          </dl>
        )}
      </Show>
    </li>
  );
}
