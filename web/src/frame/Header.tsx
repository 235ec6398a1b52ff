// The header: name of the run, views, step, and what is true everywhere: live or static, how fresh, what is wrong.

import { createEffect, createMemo, createSignal, For, Show, type JSX } from 'solid-js';
import { connection } from '../api';
import { isDark, setTheme, theme, type Theme } from '../design/theme';
import { Chip, Icon, IconButton } from '../kit';
import { useKeys } from '../state/keys';
import { now } from '../state/now';
import { lastAddress, returnTo, route } from '../state/router';
import { run } from '../state/run';
import { AlarmBadge, AlarmPanel } from './Alarms';
import { DamageBadge, DamagePanel } from './Damage';
import { Failures } from './Failures';
import { freshness } from './freshness';
import { Help } from './Help';
import { setPanel } from './panel';
import { Search } from './Search';
import { StepNavigator } from './StepNavigator';
import './frame.css';

const VIEWS = [
  { view: 'metrics', label: 'Metrics' },
  { view: 'compute', label: 'Compute' },
  { view: 'rollouts', label: 'Rollouts' },
] as const;

const THEMES: readonly Theme[] = ['system', 'light', 'dark'];

export function Header(): JSX.Element {
  const [help, setHelp] = createSignal(false);
  const [search, setSearch] = createSignal(false);
  const nextTheme = (): Theme => THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? 'system';
  const find = (): void => {
    const field = document.querySelector<HTMLElement>('main [data-search]');
    if (field) field.focus();
    else setSearch(true);
  };
  useKeys('Everywhere', [
    { keys: ['1'], what: 'Metrics', run: () => returnTo('metrics') },
    { keys: ['2'], what: 'Compute utilization', run: () => returnTo('compute') },
    { keys: ['3'], what: 'Rollouts', run: () => returnTo('rollouts') },
    { keys: ['/'], what: 'search in the view', run: find },
    { keys: ['Mod+k'], what: 'go to a metric, step or sample', run: () => setSearch(true) },
    { keys: ['a'], what: 'advisories', run: () => setPanel('alarms') },
    { keys: ['t'], what: 'theme: system, light, dark', run: () => setTheme(nextTheme()) },
    { keys: ['?'], what: 'keys', run: () => setHelp(true) },
  ]);
  return (
    <>
      <a
        class="f-skip"
        href="#view"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('view')?.focus();
        }}
      >
        Skip to the view
      </a>
      <header class="f-header">
        <div class="f-run">
          <RunName />
          <Mode />
        </div>
        <nav aria-label="Views" class="f-views">
          <For each={VIEWS}>
            {({ view, label }, index) => (
              <a
                href={lastAddress(view)}
                data-tip={`${label} (${index() + 1})`}
                aria-current={
                  route().view === view || (view === 'rollouts' && route().view === 'sample')
                    ? 'page'
                    : undefined
                }
              >
                {label}
              </a>
            )}
          </For>
        </nav>
        <StepNavigator />
        <FreshnessNote />
        <div class="f-right">
          <DamageBadge />
          <AlarmBadge />
          <IconButton label="Search" hint="/ or Ctrl+K" onClick={() => setSearch(true)}>
            <Icon name="search" />
          </IconButton>
          <IconButton label={`Theme: ${theme()}`} hint="t" onClick={() => setTheme(nextTheme())}>
            <Icon name={theme() === 'system' ? 'system' : isDark() ? 'moon' : 'sun'} />
          </IconButton>
          <IconButton label="Keys" hint="?" onClick={() => setHelp(true)}>
            ?
          </IconButton>
        </div>
      </header>
      <Failures />
      <AlarmPanel />
      <DamagePanel />
      <Help open={help()} onClose={() => setHelp(false)} />
      <Search open={search()} onClose={() => setSearch(false)} />
    </>
  );
}

function RunName(): JSX.Element {
  const name = (): string => run.name() ?? (run.meta() ? 'unnamed run' : '…');
  createEffect(() => (document.title = run.meta() ? `${name()} · miles` : 'miles'));
  return (
    <h1 class="f-name" data-tip={run.meta() ? `miles serve ${run.meta()?.version ?? ''}` : undefined}>
      {name()}
    </h1>
  );
}

function Mode(): JSX.Element {
  return (
    <>
      <Show when={run.meta()}>
        <Show
          when={run.isLive() === true}
          fallback={
            <Chip tip="The server was started without --follow: what is shown does not move.">static</Chip>
          }
        >
          <Show
            when={connection() !== 'lost'}
            fallback={
              <Chip tone="warning" tip="The connection that tells of changes is lost; it is tried again.">
                reconnecting
              </Chip>
            }
          >
            <Chip tone="good" tip="The run is being watched: new data comes by itself.">
              live
            </Chip>
          </Show>
        </Show>
      </Show>
      <Show when={run.meta()?.wandb_url}>
        {(url) => (
          <a class="f-wandb" href={url()} target="_blank" rel="noreferrer noopener" data-tip={url()}>
            wandb ↗
          </a>
        )}
      </Show>
    </>
  );
}

function FreshnessNote(): JSX.Element {
  const fresh = createMemo(
    () => {
      const live = run.isLive();
      if (live === undefined) return undefined;
      // Only a live run has an age that moves.
      const at = live ? now() : 0;
      return freshness(live, run.timeRange()?.[1], at, run.capabilities()?.has_timeline === true);
    },
    undefined,
    { equals: (a, b) => a?.text === b?.text },
  );
  return (
    <Show when={fresh()}>
      {(f) => (
        <span class={`f-fresh f-fresh-${f().tone}`} data-tip={f().tip}>
          {f().text}
        </span>
      )}
    </Show>
  );
}
