// Light, dark or as the system says; and the sheet's colours as canvas wants them.

import { createEffect, createMemo, createRoot, createSignal } from 'solid-js';
import { createPref, oneOf } from '../state/prefs';

export type Theme = 'system' | 'light' | 'dark';

const [theme, setTheme] = createPref('theme', oneOf<Theme>('system', 'light', 'dark'));
export { setTheme, theme };

const dark = matchMedia('(prefers-color-scheme: dark)');
const [systemDark, setSystemDark] = createSignal(dark.matches);
dark.addEventListener('change', (event) => setSystemDark(event.matches));

/** What is shown now. Tracked: a canvas that reads colours is painted again when it changes. */
export const isDark = createRoot(() => {
  const shown = createMemo(() => (theme() === 'system' ? systemDark() : theme() === 'dark'));
  // A computed, so that colours are asked for after the change.
  createEffect(() => apply());
  return shown;
});

function apply(): void {
  if (theme() === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme();
}

const resolved = new Map<string, string>();
let resolvedFor: boolean | undefined;

/** A colour of tokens.css by its name without dashes before it (`accent`, `phase-rollout`), as `rgb(…)`. Tracked. */
export function color(name: string): string {
  const now = isDark();
  if (resolvedFor !== now) {
    apply();
    resolved.clear();
    resolvedFor = now;
  }
  const known = resolved.get(name);
  if (known !== undefined) return known;
  const probe = document.createElement('i');
  probe.style.color = `var(--${name})`;
  probe.style.display = 'none';
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  resolved.set(name, value);
  return value;
}
