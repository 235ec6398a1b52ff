// What changes while a run is being written: /api/events as signals. Nothing polls; a question that depends on a
// stream or a step reads its version here and is asked again when that moves.

import { createSignal, type Accessor } from 'solid-js';
import { apiUrl, type StepRef } from './request';
import type { Stream } from './types';

export type Connection = 'off' | 'connecting' | 'open' | 'lost';

interface Version {
  readonly read: Accessor<number>;
  readonly bump: () => void;
}

const versions = new Map<string, Version>();

function version(name: string): Version {
  let known = versions.get(name);
  if (!known) {
    const [read, write] = createSignal(0);
    known = { read, bump: () => write((n) => n + 1) };
    versions.set(name, known);
  }
  return known;
}

const stepKey = (step: StepRef | 'any'): string =>
  step === 'any' ? 'step' : `step:${step.id}:${step.evaluation}`;

/** Counts how often a stream has changed. Tracked. */
export const streamVersion = (stream: Stream): number => version(stream).read();

/** Counts how often a step has changed; with `any`, how often one has come or changed. Tracked. */
export const stepVersion = (step: StepRef | 'any'): number => version(stepKey(step)).read();

const [connection, setConnection] = createSignal<Connection>('off');
export { connection };

/** When the server says nothing but an error, the browser gives up; then we try again. */
const AGAIN_MS = 5000;

let source: EventSource | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

interface Change {
  readonly stream?: Stream;
  readonly step?: number;
  readonly evaluation?: boolean;
}

function onMessage(text: string): void {
  const change = JSON.parse(text) as Change;
  if (change.stream !== undefined) version(change.stream).bump();
  if (change.step !== undefined) {
    version(stepKey({ id: change.step, evaluation: change.evaluation === true })).bump();
    version('step').bump();
  }
}

function everythingChanged(): void {
  for (const each of versions.values()) each.bump();
}

/** Starts to listen, once. */
export function listen(): void {
  if (source) return;
  setConnection('connecting');
  const current = new EventSource(apiUrl('events'));
  source = current;
  let lost = false;
  current.addEventListener('open', () => {
    setConnection('open');
    // The server replays what was missed when the browser reconnects; after our own new source it cannot.
    if (lost) everythingChanged();
    lost = false;
  });
  current.addEventListener('message', (event: MessageEvent<string>) => onMessage(event.data));
  current.addEventListener('resync', everythingChanged);
  current.addEventListener('error', () => {
    lost = true;
    setConnection('lost');
    if (current.readyState !== EventSource.CLOSED) return;
    current.close();
    source = undefined;
    clearTimeout(timer);
    timer = setTimeout(() => {
      listen();
      everythingChanged();
    }, AGAIN_MS);
  });
}
