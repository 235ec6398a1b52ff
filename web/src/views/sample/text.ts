// The text of a sample, wherever it is: the recorded conversation, else its decoded tokens.

import { ApiError, api, apiUrl, type ApiRequest, type Messages, type StepRef, type Tokens } from '../../api';

/** Asks once, around the kept answers: they are for what is on the screen. */
export async function fetchOnce<T>(request: ApiRequest<T>, signal: AbortSignal): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    const response = await fetch(apiUrl(request.path), { signal, credentials: 'same-origin' });
    if (response.status === 503 && tries < 5) {
      const after = Number(response.headers.get('retry-after') ?? 1) || 1;
      await new Promise((resolve) => setTimeout(resolve, after * 1000));
      signal.throwIfAborted();
      continue;
    }
    if (!response.ok) {
      const answer = (await response.json().catch(() => ({}))) as { detail?: unknown };
      const detail = typeof answer.detail === 'string' ? answer.detail : String(response.status);
      throw new ApiError(detail, response.status, request.path);
    }
    return request.decode(response);
  }
}

export type SampleText =
  | { readonly from: 'conversation'; readonly messages: Messages }
  | { readonly from: 'tokens'; readonly prompt: string; readonly response: string; readonly isCut: boolean }
  | { readonly from: 'nothing'; readonly why: string };

/** Tokens that are read for a text at most, from the start. */
export const MOST_TOKENS = 20_000;

export const joinText = (parts: readonly (string | null)[]): string =>
  parts.map((part) => part ?? '').join('');

/** Splits a slice's text into what belongs to the prompt and to the response. */
export function textOf(tokens: Tokens): Extract<SampleText, { from: 'tokens' }> | undefined {
  if (tokens.token_text === null) return undefined;
  const cut = Math.max(0, Math.min(tokens.token_text.length, tokens.prompt_len - tokens.start));
  return {
    from: 'tokens',
    prompt: joinText(tokens.token_text.slice(0, cut)),
    response: joinText(tokens.token_text.slice(cut)),
    isCut: tokens.end < tokens.total_len,
  };
}

export async function fetchText(
  step: StepRef,
  index: number,
  signal: AbortSignal,
  mostTokens = MOST_TOKENS,
): Promise<SampleText> {
  try {
    return { from: 'conversation', messages: await fetchOnce(api.messages(step, index), signal) };
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 404)) throw cause;
  }
  try {
    const slice = { start: 0, end: mostTokens };
    const text = textOf(await fetchOnce(api.tokens(step, index, slice), signal));
    return (
      text ?? {
        from: 'nothing',
        why: 'no conversation was recorded, and the run has no tokenizer to decode tokens',
      }
    );
  } catch (cause) {
    if (!(cause instanceof ApiError && cause.status === 404)) throw cause;
    return { from: 'nothing', why: cause.message };
  }
}
