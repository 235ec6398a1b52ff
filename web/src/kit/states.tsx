// What is shown where there is nothing to show: empty, loading, still being written, failed.

import { createSignal, Match, onCleanup, Show, Switch, type JSX } from 'solid-js';
import type { Query } from '../api';
import { Button } from './controls';

/** Nothing, and why: a title, what would be here, what to do. */
export function Empty(props: { readonly title: string; readonly children?: JSX.Element }): JSX.Element {
  return (
    <div class="k-empty">
      <h2>{props.title}</h2>
      <Show when={props.children}>{(children) => <div class="k-empty-text">{children()}</div>}</Show>
    </div>
  );
}

const [now, setNow] = createSignal(Date.now());
setInterval(() => setNow(Date.now()), 1000);

/** "retrying in 4 s", counted down. */
export function RetryCountdown(props: { readonly at: number | undefined }): JSX.Element {
  const left = (): number => Math.ceil(((props.at ?? 0) - now()) / 1000);
  return (
    <Show when={props.at !== undefined}>
      <span class="k-countdown">{left() > 0 ? `next try in ${left()} s` : 'trying again …'}</span>
    </Show>
  );
}

/** A failure, in words, with what happens next. */
export function ErrorNote(props: {
  readonly what: string;
  readonly detail: string;
  readonly retryAt?: number | undefined;
  readonly retry?: (() => void) | undefined;
}): JSX.Element {
  return (
    <div class="k-note k-tone-critical" role="alert">
      <div>
        <strong>Could not load {props.what}.</strong> <span>{props.detail}</span>
      </div>
      <div class="k-note-actions">
        <RetryCountdown at={props.retryAt} />
        <Show when={props.retry}>{(retry) => <Button onClick={() => retry()()}>Try again</Button>}</Show>
      </div>
    </div>
  );
}

/** A step whose files are not complete. */
export function WaitingNote(props: {
  readonly what: string;
  readonly detail: string;
  readonly retryAt?: number | undefined;
}): JSX.Element {
  return (
    <div class="k-note k-tone-info" role="status">
      <div>
        <strong>Step still being written:</strong> {props.what} cannot be read yet.{' '}
        <span class="k-muted">{props.detail}</span>
      </div>
      <RetryCountdown at={props.retryAt} />
    </div>
  );
}

/** Where an answer will be. Says nothing for the first moment: most answers are there before it is over. */
export function Loading(props: { readonly what: string; readonly height?: number }): JSX.Element {
  const [shown, setShown] = createSignal(false);
  const timer = setTimeout(() => setShown(true), 250);
  onCleanup(() => clearTimeout(timer));
  return (
    <div
      class="k-loading"
      role="status"
      style={props.height === undefined ? {} : { 'min-height': `${props.height}px` }}
    >
      <Show when={shown()}>Loading {props.what} …</Show>
    </div>
  );
}

/** The answer of a query, or what there is instead. A failure after a good answer is shown above the old one. */
export function Answer<T>(props: {
  readonly query: Query<T>;
  readonly what: string;
  readonly height?: number;
  readonly children: (data: () => NonNullable<T>) => JSX.Element;
}): JSX.Element {
  const problem = (): JSX.Element => (
    <Switch>
      <Match when={props.query.state() === 'waiting'}>
        <WaitingNote
          what={props.what}
          detail={props.query.error()?.message ?? ''}
          retryAt={props.query.retryAt()}
        />
      </Match>
      <Match when={props.query.state() === 'failed'}>
        <ErrorNote
          what={props.what}
          detail={props.query.error()?.message ?? ''}
          retryAt={props.query.retryAt()}
          retry={props.query.retry}
        />
      </Match>
    </Switch>
  );
  return (
    <>
      {problem()}
      <Show
        when={props.query.data() as NonNullable<T> | undefined}
        fallback={
          <Show when={props.query.state() === 'loading'}>
            <Loading what={props.what} {...(props.height === undefined ? {} : { height: props.height })} />
          </Show>
        }
      >
        {(data) => (
          <div class="k-answer" classList={{ 'k-old': props.query.isOld() }} aria-busy={props.query.isOld()}>
            {props.children(data)}
          </div>
        )}
      </Show>
    </>
  );
}
