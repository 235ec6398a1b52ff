// What browser tests share: the real binary on runs made for them, Chromium, a page that must stay free of errors, axe,
// screenshots. The binary is MILES_BIN_DIR's, or the debug build's; the browser CHROMIUM, or Debian's.

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const here = dirname(fileURLToPath(import.meta.url));
const binary = join(process.env.MILES_BIN_DIR ?? join(here, '../../target/debug'), 'miles');
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export const SHOTS = join(here, 'shots');
mkdirSync(SHOTS, { recursive: true });

/** Bounds of a hang, not of speed: the machine is shared. */
export const PATIENCE = 20_000;

/** A folder that is gone when the test file ends. */
const folders = [];
export function folder() {
  const made = mkdtempSync(join(tmpdir(), 'miles-e2e-'));
  folders.push(made);
  return made;
}

const children = [];
function end() {
  for (const child of children) child.kill('SIGKILL');
  for (const made of folders) rmSync(made, { recursive: true, force: true });
}
process.on('exit', end);

/** Writes a demo run; `miles demo` takes these arguments. */
export function demo(...args) {
  const dir = join(folder(), 'run');
  const done = spawnSync(binary, ['demo', dir, '-q', ...args], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return dir;
}

/** A demo run that goes on until the end of the tests. */
export function liveDemo(...args) {
  const dir = join(folder(), 'run');
  children.push(spawn(binary, ['demo', dir, '-q', '--live', ...args], { stdio: 'ignore' }));
  return dir;
}

/** Serves a run; gives the address of the page. */
export async function serve(...args) {
  const env = { ...process.env };
  for (const name of ['MILES_DUMP_DETAILS', 'MILES_TOKEN']) delete env[name];
  const child = spawn(binary, ['serve', '--port', '0', '--host', '127.0.0.1', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let stderr = '';
  child.stderr.on('data', (text) => (stderr += text));
  const address = await new Promise((resolve, reject) => {
    createInterface(child.stdout).once('line', resolve);
    child.once('exit', (code) => reject(new Error(`miles serve ended with ${code}: ${stderr}`)));
  });
  return { url: address.trim(), stop: () => child.kill('SIGTERM'), child };
}

/** Waits until something holds. */
export async function until(what, check, patience = PATIENCE) {
  const end = Date.now() + patience;
  for (;;) {
    const value = await check();
    if (value) return value;
    assert.ok(Date.now() < end, `never: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

let browser;
export async function open() {
  assert.ok(existsSync(executablePath), `no Chromium at ${executablePath}`);
  if (browser?.isConnected() !== true) {
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  }
  return browser;
}
/** After the tests of a file: nothing of theirs is left. */
export async function close() {
  await browser?.close();
  end();
}

/**
 * A page that fails the test when anything is said on the console, thrown, or asked of another host. `allow` lists what a
 * test provokes itself.
 */
export async function page(
  t,
  server,
  { path = '', width = 1440, height = 900, scheme = 'light', allow = [] } = {},
) {
  const context = await (
    await open()
  ).newContext({
    viewport: { width, height },
    colorScheme: scheme,
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  const tab = await context.newPage();
  tab.setDefaultTimeout(PATIENCE);
  const wrong = [];
  const host = new URL(server.url).host;
  tab.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) wrong.push(`${message.type()}: ${message.text()}`);
  });
  tab.on('pageerror', (error) => wrong.push(`thrown: ${error.stack ?? error}`));
  tab.on('request', (request) => {
    const to = new URL(request.url());
    if (to.protocol.startsWith('http') && to.host !== host)
      wrong.push(`asked another host: ${request.url()}`);
  });
  t.after(async () => {
    await context.close();
    const left = wrong.filter((text) => !allow.some((pattern) => pattern.test(text)));
    assert.deepEqual(left, [], 'the console is free of errors');
  });
  await tab.goto(server.url + path);
  return tab;
}

/** No serious finding of axe, in what is shown now. */
export async function accessible(tab, what) {
  await tab.evaluate(axeSource);
  const found = await tab.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, {
      resultTypes: ['violations'],
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'],
    });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map((node) => `${node.target} ${node.failureSummary}`).join(' | ')}`,
      );
  });
  assert.deepEqual(found, [], what);
}

/** Nothing is wider than the window. */
export async function fits(tab) {
  const [wide, window] = await tab.evaluate(() => [
    document.documentElement.scrollWidth,
    document.documentElement.clientWidth,
  ]);
  assert.ok(wide <= window, `the page is ${wide} px wide in a window of ${window}`);
}

export const shot = (tab, name, options = {}) =>
  tab.screenshot({ path: join(SHOTS, `${name}.png`), ...options });

/** What is behind `#`. */
export const at = (tab) => decodeURIComponent(new URL(tab.url()).hash);

/** A run with these lines in a flat stream, such as `metrics`. */
export function runWith(streams, meta = { run_name: 'made', start_ts: 1_700_000_000 }) {
  const dir = folder();
  mkdirSync(join(dir, 'dashboard'), { recursive: true });
  writeFileSync(join(dir, 'dashboard/meta.json'), JSON.stringify(meta));
  for (const [name, lines] of Object.entries(streams)) {
    for (const line of lines) {
      const text = typeof line === 'string' ? line : JSON.stringify(line);
      appendFileSync(join(dir, `dashboard/${name}.jsonl`), `${text}\n`);
    }
  }
  return dir;
}
