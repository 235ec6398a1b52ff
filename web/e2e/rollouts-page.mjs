// What the checks of Rollouts and Sample share: a browser, a page that reports its errors, axe, frames.
// PAGE (or the first argument) is the address of a page: of `miles serve`, of `vite`, of `vite preview`.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
export const base = (process.argv[2] ?? process.env.PAGE ?? 'http://127.0.0.1:7788').replace(/\/$/, '');
export const shots = new URL('./shots/', import.meta.url).pathname;

let failed = 0;
export function check(what, good, detail = '') {
  if (!good) failed += 1;
  process.stdout.write(`${good ? 'ok  ' : 'FAIL'} ${what}${detail === '' ? '' : `: ${detail}`}\n`);
}

export async function open({ width = 1440, height = 900, scheme = 'light' } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    acceptDownloads: true,
    bypassCSP: true,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  page.errors = [];
  page.on('pageerror', (error) => page.errors.push(String(error)));
  page.on('console', (message) => {
    // A sample without a recorded conversation is asked for it and says 404.
    if (message.type() === 'error' && !/status of 404/.test(message.text())) page.errors.push(message.text());
  });
  page.at = async (hash) => {
    await page.goto(`${base}/${hash}`);
    await page.waitForLoadState('networkidle');
  };
  return page;
}

export async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() =>
    globalThis.axe.run('main', { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }),
  );
  const told = violations.map(
    (each) =>
      `${each.id} ×${each.nodes.length} ${each.nodes[0]?.target?.[0]} ${each.nodes[0]?.any?.[0]?.message ?? ''}`,
  );
  check(`axe: ${what}`, violations.length === 0, told.join('; '));
}

/** Frames while an element is scrolled for two seconds: their median and the worst, in milliseconds. */
export const scrollFrames = (page, selector, by) =>
  page.evaluate(
    async ([query, step]) => {
      const element = document.querySelector(query);
      const times = [];
      let last = performance.now();
      const end = last + 2000;
      while (performance.now() < end) {
        element.scrollTop += step;
        const now = await new Promise((resolve) => requestAnimationFrame(resolve));
        times.push(now - last);
        last = now;
      }
      times.sort((a, b) => a - b);
      const at = (share) => Math.round(times[Math.floor(share * (times.length - 1))] * 10) / 10;
      return { frames: times.length, median: at(0.5), p95: at(0.95), worst: at(1) };
    },
    [selector, by],
  );

export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});
export async function finish() {
  await browser.close();
  process.exitCode = failed === 0 ? 0 : 1;
  process.stdout.write(failed === 0 ? 'all good\n' : `${failed} failed\n`);
}
