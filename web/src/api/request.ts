// One question to the server: its address, what it is for, what it depends on; sending it; what can go wrong.
//
// Answers are kept by address with their ETag. The browser asks with If-None-Match by itself; when the tag that comes
// back is the one of the kept answer, the same object is given again, so that nothing downstream sees a change.

import type { Stream } from './types';

export interface StepRef {
  readonly id: number;
  readonly evaluation: boolean;
}

export interface ApiRequest<T> {
  /** Below `api/`, with its query. */
  readonly path: string;
  /** For people, as the object of "could not load …". */
  readonly what: string;
  /** Streams that the answer is made from: asked again when one of them grows. */
  readonly streams: readonly Stream[];
  /** The step whose files it is made from; `any`: the list of all steps. */
  readonly step?: StepRef | 'any';
  readonly decode: (response: Response) => Promise<T>;
}

export class ApiError extends Error {
  override readonly name = 'ApiError';

  constructor(
    message: string,
    /** HTTP status; 0 where no answer came. */
    readonly status: number,
    readonly path: string,
    /** When the server wants to be asked again. */
    readonly retryAfterS?: number,
  ) {
    super(message);
  }

  /** The files are not complete yet, or the server has too much to do. */
  get isWaiting(): boolean {
    return this.status === 503;
  }

  /** Whether asking the same again can give another answer. */
  get isPassing(): boolean {
    return this.status === 0 || this.status >= 500;
  }
}

interface Kept {
  readonly tag: string;
  readonly data: unknown;
}

/** Answers that are kept; a page shows some twenty at a time. */
const MOST_KEPT = 64;
const kept = new Map<string, Kept>();

function keep(path: string, entry: Kept): void {
  kept.delete(path);
  kept.set(path, entry);
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
  }
}

/** The last answer to this question, if it is still kept. */
export function lastAnswer<T>(request: ApiRequest<T>): T | undefined {
  return kept.get(request.path)?.data as T | undefined;
}

/** How far the server's clock is ahead of this one, in milliseconds. `Date` has whole seconds: half of one is added. */
let clockAhead = 0;
let clockKnown = false;

function readClock(response: Response, sentAt: number): void {
  const date = Date.parse(response.headers.get('date') ?? '');
  const tookMs = Date.now() - sentAt;
  // A slow or kept answer says nothing about now.
  if (Number.isNaN(date) || tookMs > 1000 || response.status === 304) return;
  const ahead = date + 500 - (sentAt + tookMs / 2);
  // Within a second it is the same clock.
  if (!clockKnown || Math.abs(ahead - clockAhead) > 1500) clockAhead = Math.abs(ahead) < 1500 ? 0 : ahead;
  clockKnown = true;
}

/** Unix seconds by the server's clock: the browser's can be minutes off. */
export const serverNow = (): number => (Date.now() + clockAhead) / 1000;

/** Absolute address of a path below `api/`, below whatever prefix the page was opened. */
export const apiUrl = (path: string): string => new URL(`api/${path}`, document.baseURI).href;

async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = (await response.json()) as { detail?: unknown };
    if (typeof detail === 'string') return detail;
  } catch {
    // A proxy's page, say.
  }
  return `${response.status} ${response.statusText}`.trim();
}

/** Asks. Throws ApiError, or the signal's reason when it was given up. */
export async function send<T>(request: ApiRequest<T>, signal: AbortSignal): Promise<T> {
  const sentAt = Date.now();
  let response: Response;
  try {
    response = await fetch(apiUrl(request.path), { signal, credentials: 'same-origin' });
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new ApiError('the server does not answer', 0, request.path);
  }
  readClock(response, sentAt);
  if (!response.ok) {
    const after = Number(response.headers.get('retry-after') ?? NaN);
    throw new ApiError(
      await detailOf(response),
      response.status,
      request.path,
      Number.isFinite(after) ? after : undefined,
    );
  }
  const tag = response.headers.get('etag');
  const known = kept.get(request.path);
  if (tag !== null && known?.tag === tag) {
    void response.body?.cancel();
    keep(request.path, known);
    return known.data as T;
  }
  let data: T;
  try {
    data = await request.decode(response);
  } catch (cause) {
    if (signal.aborted) throw cause;
    throw new ApiError(`the answer cannot be read: ${String(cause)}`, 0, request.path);
  }
  if (tag !== null) keep(request.path, { tag, data });
  return data;
}
