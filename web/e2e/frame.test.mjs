// The frame in a browser: what is true everywhere, moving among views and steps, and what is said when something is wrong.

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  accessible,
  at,
  close,
  demo,
  fits,
  folder,
  liveDemo,
  page,
  runWith,
  serve,
  shot,
  until,
} from './harness.mjs';

let server;
before(async () => {
  server = await serve('-d', demo());
});
after(close);

const text = (tab, selector) => tab.locator(selector).first().textContent();

describe('the header', () => {
  it('names the run, its mode, how far the data goes, and links to wandb where the run has it', async (t) => {
    const tab = await page(t, server);
    await tab.waitForSelector('.m-card .u-over');
    assert.equal(await text(tab, 'h1'), 'miles-demo');
    assert.equal(await tab.title(), 'miles-demo · miles');
    assert.match(await text(tab, '.f-run'), /static/);
    assert.match(await text(tab, '.f-fresh'), /^data to 2026-01-01 12:14:59$/);
    assert.equal(await tab.locator('.f-wandb').count(), 0);
    await accessible(tab, 'metrics, light');
    await shot(tab, 'frame-light');
  });

  it('links to wandb where the run says where it is', async (t) => {
    const tab = await page(t, server, { path: '#/compute' });
    const wandb_url = 'https://wandb.ai/team/project/runs/r1';
    await tab.route(/\/api\/meta$/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), wandb_url } });
    });
    await tab.reload();
    const link = tab.getByRole('link', { name: 'wandb' });
    await link.waitFor();
    assert.equal(await link.getAttribute('href'), wandb_url);
    assert.match(await link.getAttribute('rel'), /noopener/);
  });

  it('moves between views and steps, back and forward, and every address can be opened', async (t) => {
    const tab = await page(t, server);
    await tab.getByRole('link', { name: 'Compute' }).click();
    await until('compute', () => at(tab) === '#/compute');
    await tab.getByRole('button', { name: 'Previous step' }).click();
    await until('step 6', () => at(tab) === '#/rollouts/6');
    await tab.keyboard.press('[');
    await until('step 5', () => at(tab) === '#/rollouts/5');
    await tab.keyboard.press(']');
    await tab.keyboard.press('1');
    await until('metrics', () => at(tab).startsWith('#/metrics'));
    await tab.goBack();
    await until('back at 6', () => at(tab) === '#/rollouts/6');
    assert.equal(await text(tab, '.f-step'), 'step 6');
    await tab.goBack();
    await tab.goForward();
    await until('forward at 6', () => at(tab) === '#/rollouts/6');
    // A tab leads to where its view was left.
    await tab.keyboard.press('2');
    await tab.keyboard.press('3');
    await until('rollouts as they were', () => at(tab) === '#/rollouts/6');
    await tab.reload();
    await until('the same after a reload', async () => (await text(tab, '.f-step')) === 'step 6');
  });

  it('jumps to a step, train or eval', async (t) => {
    const tab = await page(t, server);
    await tab.waitForSelector('.f-step');
    await tab.keyboard.press('s');
    await tab.getByRole('textbox', { name: 'Step' }).fill('3');
    await shot(tab, 'frame-steps');
    await accessible(tab, 'the list of steps');
    await tab.keyboard.press('Enter');
    await until('step 3', () => at(tab) === '#/rollouts/3');
    await tab.keyboard.press('s');
    await tab.getByRole('radio', { name: /eval/ }).check({ force: true });
    await tab.getByRole('dialog').getByRole('link', { name: '4', exact: true }).click();
    await until('eval step 4', () => at(tab) === '#/rollouts/4?eval=1');
    assert.equal(await text(tab, '.f-step'), 'eval step 4');
    await tab.keyboard.press('s');
    await tab.keyboard.press('Escape');
    assert.equal(await tab.getByRole('dialog').count(), 0);
  });

  it('opens the advisories with rule, evidence, hint and step, from an address too', async (t) => {
    const tab = await page(t, server);
    await tab.waitForSelector('.f-alarm');
    assert.equal(await tab.locator('.f-alarms').getAttribute('aria-label'), 'Advisories: 2 warning');
    await tab.locator('.f-alarms').click();
    const panel = tab.getByRole('dialog', { name: 'Advisories' });
    await panel.getByText('rollout.dead_groups').waitFor();
    assert.match(at(tab), /panel=alarms/);
    const card = await panel.locator('.f-finding').first().textContent();
    for (const part of ['warning', 'What to do:', 'zero std share', '56.3 %', 'open step 7']) {
      assert.ok(card.includes(part), `${part} in ${card}`);
    }
    await accessible(tab, 'advisories');
    await shot(tab, 'frame-advisories');
    await tab.reload();
    await panel.getByText('rollout.truncation').waitFor();
    await tab.keyboard.press('Escape');
    await until('closed', () => !at(tab).includes('panel'));
    await tab.keyboard.press('a');
    await panel.getByRole('link', { name: 'open step 7' }).first().click();
    await until('step 7', () => at(tab) === '#/rollouts/7');
    assert.equal(await tab.locator('dialog[open]').count(), 0);
  });

  it('lists its keys and finds metrics, steps and samples', async (t) => {
    const tab = await page(t, server, { path: '#/compute' });
    await tab.waitForSelector('.f-step');
    await tab.keyboard.press('?');
    const help = tab.getByRole('dialog', { name: 'Keys' });
    assert.match(await help.textContent(), /previous step/);
    await accessible(tab, 'keys');
    await shot(tab, 'frame-keys');
    await tab.keyboard.press('Escape');
    await tab.keyboard.press('/');
    await tab.keyboard.type('grad');
    await tab.getByRole('option', { name: /train\/grad_norm/ }).waitFor();
    await accessible(tab, 'search');
    await shot(tab, 'frame-search');
    await tab.keyboard.press('Enter');
    await until('the metric', () => at(tab) === '#/metrics?c=train&full=train/grad_norm');
    await tab.getByRole('dialog', { name: 'train/grad_norm' }).waitFor();
    await tab.keyboard.press('Escape');
    await until('closed', () => at(tab) === '#/metrics?c=train');
    await tab.keyboard.press('Control+k');
    await tab.keyboard.type('897');
    await tab.getByRole('option', { name: /sample 897 of step 7/ }).click();
    await until('the sample', () => at(tab) === '#/sample/7/897');
  });

  it('follows the system between light and dark, until the reader says otherwise', async (t) => {
    const tab = await page(t, server, { scheme: 'dark' });
    await tab.waitForSelector('.m-card .u-over');
    const background = () =>
      tab.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor);
    const dark = await background();
    await accessible(tab, 'metrics, dark');
    await shot(tab, 'frame-dark');
    await tab.emulateMedia({ colorScheme: 'light' });
    await until('light', async () => (await background()) !== dark);
    await tab.keyboard.press('t');
    await tab.keyboard.press('t');
    await until('dark by choice', async () => (await background()) === dark);
    await tab.reload();
    await until('still dark', async () => (await background()) === dark);
  });

  it('fits a phone', async (t) => {
    const tab = await page(t, server, { width: 390, height: 844 });
    await tab.waitForSelector('.m-card .u-over');
    await fits(tab);
    await accessible(tab, 'metrics on a phone');
    await shot(tab, 'frame-390');
    await tab.locator('.f-alarms').click();
    await tab.getByText('rollout.dead_groups').waitFor();
    await fits(tab);
    await shot(tab, 'frame-advisories-390');
  });

  it('leads by keyboard alone from the top to the view', async (t) => {
    const tab = await page(t, server);
    await tab.waitForSelector('.m-card .u-over');
    await tab.keyboard.press('Tab');
    assert.equal(await tab.evaluate(() => document.activeElement.textContent), 'Skip to the view');
    await tab.keyboard.press('Enter');
    assert.equal(await tab.evaluate(() => document.activeElement.id), 'view');
    await tab.keyboard.press('Tab');
    assert.equal(await tab.evaluate(() => document.activeElement.className), 'm-category');
  });
});

describe('a live run', () => {
  it('says how old its data is, moves by itself, and reads as stale when nothing is written', async (t) => {
    const dir = liveDemo();
    const live = await until('a run', async () => serve('-d', dir, '--follow').catch(() => undefined));
    const tab = await page(t, live, { allow: [/Failed to load resource/, /ERR_/] });
    await tab.waitForSelector('.f-fresh');
    await until('live', async () => /live/.test(await text(tab, '.f-run')));
    assert.match(await text(tab, '.f-fresh'), /^data to \d\d:\d\d:\d\d, \d+ s ago$/);
    const newest = async () => /\d\d:\d\d:\d\d/.exec(await text(tab, '.f-fresh'))[0];
    const first = await newest();
    await until('newer data', async () => (await newest()) > first);
    await shot(tab, 'frame-live');
    // The server goes away: what is there stays, and the page says so.
    live.child.kill('SIGKILL');
    await tab.getByText('reconnecting').waitFor();
    await tab.locator('.f-failures .k-note').first().waitFor();
    assert.equal(await text(tab, 'h1'), 'miles-demo');
    await shot(tab, 'frame-server-gone');
  });

  it('reads as stale when its collector is dead', async (t) => {
    const stale = await serve('-d', demo('--minutes', '5', '--steps', '2'), '--follow');
    const tab = await page(t, stale);
    await tab.waitForSelector('.f-fresh-critical');
    assert.match(await text(tab, '.f-fresh'), /^stale: data to .* ago$/);
    await accessible(tab, 'stale');
    await shot(tab, 'frame-stale');
  });
});

describe('what is wrong', () => {
  it('is said with what failed, and tried again by itself', async (t) => {
    const tab = await page(t, server, { path: '#/compute', allow: [/Failed to load resource/] });
    await tab.waitForSelector('.f-step');
    let answers = 0;
    await tab.route(/\/api\/metrics\?/, async (route) => {
      answers += 1;
      if (answers > 2) return route.continue();
      return route.fulfill({ status: 500, json: { detail: 'dashboard/metrics.jsonl: damaged at byte 7' } });
    });
    await tab.keyboard.press('1');
    await tab.getByText('Could not load').waitFor();
    assert.match(
      await text(tab, '.f-failures'),
      /damaged at byte 7.*next try in|damaged at byte 7.*trying again/,
    );
    await accessible(tab, 'a failure');
    await shot(tab, 'frame-failure');
    await tab.waitForSelector('.m-card .u-over');
    assert.equal((await text(tab, '.f-failures')).trim(), '');
  });

  it('is no error while a step is still being written', async (t) => {
    const tab = await page(t, server, { path: '#/compute', allow: [/Failed to load resource/] });
    await tab.waitForSelector('.f-step');
    let answers = 0;
    await tab.route(/\/api\/metrics\?/, async (route) => {
      answers += 1;
      if (answers > 2) return route.continue();
      return route.fulfill({
        status: 503,
        headers: { 'retry-after': '1' },
        json: { detail: 'rollout_data/8.pt is still being written' },
      });
    });
    await tab.keyboard.press('1');
    await tab.getByText('Step still being written').waitFor();
    await shot(tab, 'frame-503');
    await tab.waitForSelector('.m-card .u-over');
  });

  it('is a question that never gets an answer', async (t) => {
    const tab = await page(t, server, { path: '#/compute', allow: [/Failed to load resource/, /ERR_/] });
    await tab.waitForSelector('.f-step');
    await tab.route(/\/api\/metrics\?/, (route) => route.abort());
    await tab.keyboard.press('1');
    await tab.getByText('the server does not answer').first().waitFor();
    await tab.unroute(/\/api\/metrics\?/);
    await tab.getByRole('button', { name: 'Try again' }).first().click();
    await tab.waitForSelector('.m-card .u-over');
  });

  it('is damage in the files, with path, byte and reason', async (t) => {
    const dir = runWith({
      metrics: [
        { ts: 1_700_000_001, step_key: 'rollout/step', step: 0, metrics: { 'rollout/raw_reward': 0.5 } },
        '{"ts": 17000, "step_key"',
        { ts: 1_700_000_009, step_key: 'rollout/step', step: 1, metrics: { 'rollout/raw_reward': 0.6 } },
      ],
    });
    const damaged = await serve('-d', dir);
    const tab = await page(t, damaged);
    await tab.getByRole('button', { name: '1 damaged file' }).click();
    const panel = tab.getByRole('dialog', { name: 'Damage' });
    assert.match(await panel.textContent(), /dashboard\/metrics\.jsonl.*1 line skipped, the first at byte/);
    await accessible(tab, 'damage');
    await shot(tab, 'frame-damage');
  });

  it('is a run that holds nothing: what is missing, and which flag records it', async (t) => {
    const empty = await serve('-d', folder());
    const tab = await page(t, empty);
    await tab.getByText('--dump-details').first().waitFor();
    assert.match(await text(tab, 'main'), /--use-miles-dashboard/);
    assert.match(await text(tab, '.f-fresh'), /no telemetry/);
    await accessible(tab, 'an empty run');
    await shot(tab, 'frame-empty');
  });

  it('is markup in what the run says of itself, which stays text', async (t) => {
    const name = '<img src=x onerror=alert(1)>'.repeat(8);
    const dir = runWith(
      { metrics: [{ ts: 1, step_key: 'rollout/step', step: 0, metrics: { 'rollout/<b>x</b>': 1 } }] },
      { run_name: name, start_ts: 1 },
    );
    appendFileSync(join(dir, 'dashboard/metrics.jsonl'), '');
    const hostile = await serve('-d', dir);
    const tab = await page(t, hostile);
    await tab.waitForSelector('.m-card .u-over');
    assert.equal(await text(tab, 'h1'), name);
    assert.equal(await tab.locator('main b, header img').count(), 0);
    await fits(tab);
  });
});
