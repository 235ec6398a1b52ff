// An address of the page as a value: `#/rollouts/7?eval=1&sort=-reward`. Everything behind `#` is ours, so that the page
// works below any prefix of a proxy and the server knows one path. Pure; router.ts holds the current one.

import type { StepRef } from '../api/request';

export type Route =
  | { readonly view: 'metrics' }
  | { readonly view: 'compute' }
  /** Without a step: the newest one. */
  | { readonly view: 'rollouts'; readonly step?: StepRef | undefined }
  | { readonly view: 'sample'; readonly step: StepRef; readonly index: number };

export type View = Route['view'];

export type Params = Readonly<Record<string, string>>;

export interface Address {
  readonly route: Route;
  /** Of the view; `eval` is part of the route. */
  readonly params: Params;
}

const INTEGER = /^-?\d{1,15}$/;

function step(text: string | undefined, evaluation: boolean): StepRef | undefined {
  return text !== undefined && INTEGER.test(text) ? { id: Number(text), evaluation } : undefined;
}

function parseParams(text: string): Record<string, string> {
  const params: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(text)) params[name] = value;
  return params;
}

/** What is no address leads to Metrics. */
export function parseAddress(hash: string): Address {
  const text = hash.replace(/^#?\/?/, '');
  const cut = text.indexOf('?');
  const path = (cut < 0 ? text : text.slice(0, cut)).split('/');
  const { eval: evaluation, ...params } = parseParams(cut < 0 ? '' : text.slice(cut + 1));
  const ref = step(path[1], evaluation === '1');
  switch (path[0]) {
    case 'compute':
      return { route: { view: 'compute' }, params };
    case 'rollouts':
      return { route: ref ? { view: 'rollouts', step: ref } : { view: 'rollouts' }, params };
    case 'sample': {
      const index = path[2];
      if (ref && index !== undefined && INTEGER.test(index)) {
        return { route: { view: 'sample', step: ref, index: Number(index) }, params };
      }
      return { route: { view: 'rollouts' }, params: {} };
    }
    default:
      return { route: { view: 'metrics' }, params };
  }
}

/** Percent-encodes only what would be misread: addresses are read by people. */
const encode = (text: string): string =>
  encodeURIComponent(text).replace(/%(?:2C|3A|2F|40|7C|5B|5D|3E|3C|3D|28|29|24)/g, decodeURIComponent);

export function formatAddress({ route, params }: Address): string {
  let path: string = route.view;
  const parts: string[] = [];
  if ('step' in route && route.step) {
    path += `/${route.step.id}`;
    if (route.step.evaluation) parts.push('eval=1');
  }
  if (route.view === 'sample') path += `/${route.index}`;
  for (const [name, value] of Object.entries(params)) parts.push(`${encode(name)}=${encode(value)}`);
  return `#/${path}${parts.length ? `?${parts.join('&')}` : ''}`;
}
