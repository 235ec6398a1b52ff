// Metrics in a browser: categories, filter, axes, shared cursor and zoom, smoothing, pins, full screen, taking data out,
// engines; on a demo run, on dumps alone, on many engines, and on what a restarted run logs.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  accessible,
  at,
  close,
  demo,
  fits,
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

const card = (tab, key) => tab.locator('.m-card', { has: tab.locator('.m-title', { hasText: key }) }).first();
const over = (tab, key) => card(tab, key).locator('.u-over');
const value = (tab, key) => card(tab, key).locator('.m-value').textContent();

/** Drags over a chart from one part of its width to another. */
async function drag(tab, key, from, to) {
  const box = await over(tab, key).boundingBox();
  await tab.mouse.move(box.x + box.width * from, box.y + 40);
  await tab.mouse.down();
  await tab.mouse.move(box.x + box.width * to, box.y + 44, { steps: 6 });
  await tab.mouse.up();
}

/** The painted pixels of a chart, as a text that is the same while they are. */
const pixels = (tab, key) =>
  card(tab, key)
    .locator('canvas')
    .evaluate((canvas) => canvas.toDataURL());

describe('categories', () => {
  it('come from prefixes, are chosen by pointer and keys, and each remembers what was set in it', async (t) => {
    const tab = await page(t, server);
    await over(tab, 'raw_reward').waitFor();
    assert.deepEqual(await tab.locator('.m-category span:first-child').allTextContents(), [
      'rollout',
      'perf',
      'train',
      'eval',
      'sglang',
    ]);
    await tab.keyboard.press('j');
    await over(tab, 'step_time').waitFor();
    assert.equal(at(tab), '#/metrics?c=perf');
    await tab.getByRole('searchbox').fill('time');
    await tab.getByText('wall clock').click();
    await until('both in the address', () => at(tab) === '#/metrics?c=perf&q=time&x=time');
    await tab.getByRole('button', { name: /^train / }).click();
    await until('train as it was', () => at(tab) === '#/metrics?c=train');
    await tab.getByRole('button', { name: /^perf / }).click();
    await until('perf as it was left', () => at(tab) === '#/metrics?c=perf&q=time&x=time');
    await tab.goBack();
    await until('back', () => at(tab) === '#/metrics?c=train');
    assert.equal(await tab.getByRole('searchbox').inputValue(), '');
  });

  it('are filtered by words or a regular expression, and say how many match', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=train' });
    await over(tab, 'grad_norm').waitFor();
    await tab.keyboard.press('/');
    await tab.keyboard.type('loss');
    await until('four', async () => (await tab.locator('.m-slot').count()) === 4);
    assert.equal(await tab.locator('.m-category', { hasText: 'train' }).textContent(), 'train4/10');
    await tab.getByRole('searchbox').fill('/kl$|norm/');
    await until('two', async () => (await tab.locator('.m-slot').count()) === 2);
    await tab.getByRole('searchbox').fill('/(/');
    assert.equal(await tab.getByRole('searchbox').getAttribute('aria-invalid'), 'true');
    assert.equal(await tab.locator('.m-slot').count(), 10);
    await tab.getByRole('searchbox').fill('nothing like it');
    await tab.getByText('No metric of train is called so').waitFor();
    await tab.getByRole('button', { name: 'Clear the filter' }).click();
    await until('all', async () => (await tab.locator('.m-slot').count()) === 10);
  });

  it('of dumps alone are dump, with what is missing said', async (t) => {
    const dumps = await serve('-d', demo('--minutes', '0', '--steps', '4'));
    const tab = await page(t, dumps);
    await over(tab, 'reward_mean').waitFor();
    assert.deepEqual(await tab.locator('.m-category span:first-child').allTextContents(), ['dump']);
    assert.match(await tab.locator('.m-banner').textContent(), /--use-miles-dashboard/);
    await tab.getByText('wall clock').click();
    await tab.getByText('over rollout step: no times were logged').first().waitFor();
    await accessible(tab, 'dumps alone');
    await shot(tab, 'metrics-dump-only');
    await over(tab, 'zero_std_group_frac').click({ position: { x: 2, y: 30 } });
    await until('the first step', () => at(tab) === '#/rollouts/0');
  });
});

describe('charts', () => {
  it('share one cursor, say what a point is, and a click opens its step', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=rollout' });
    await over(tab, 'raw_reward').waitFor();
    const newest = await value(tab, 'count_0');
    const box = await over(tab, 'raw_reward').boundingBox();
    await tab.mouse.move(box.x + (box.width * 3) / 7, box.y + 50);
    await until('the others follow', async () => (await value(tab, 'count_0')) === '2');
    assert.notEqual(newest, '2');
    const hover = tab.locator('.k-hover');
    assert.match(
      await hover.textContent(),
      /rollout\/step 3\s+2026-01-01 \d\d:\d\d:\d\d.*0\.5117.*click opens step 3/,
    );
    await shot(tab, 'metrics-hover');
    await tab.mouse.click(box.x + (box.width * 3) / 7, box.y + 50);
    await until('step 3', () => at(tab) === '#/rollouts/3');
    await tab.goBack();
    await over(tab, 'raw_reward').waitFor();
  });

  it('of training steps and of evaluations lead to the step that they belong to', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=eval' });
    await over(tab, 'demo').first().waitFor();
    await over(tab, 'demo')
      .first()
      .click({ position: { x: 3, y: 40 } });
    await until('eval step 0', () => at(tab) === '#/rollouts/0?eval=1');
    await tab.goto(`${server.url}#/metrics?c=train`);
    await over(tab, 'grad_norm').waitFor();
    const box = await over(tab, 'grad_norm').boundingBox();
    await tab.mouse.click(box.x + (box.width * 5) / 7, box.y + 40);
    await until('step 5', () => at(tab) === '#/rollouts/5');
  });

  it('zoom together by a drag, only those of one axis, and a double click shows everything', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=train&pin=rollout/raw_reward' });
    await over(tab, 'grad_norm').waitFor();
    await over(tab, 'raw_reward').waitFor();
    const [other, pinned] = [await pixels(tab, 'kl_loss'), await pixels(tab, 'raw_reward')];
    await drag(tab, 'grad_norm', 0.3, 0.7);
    await until('in the address', () => /z_train=2,5/.test(at(tab)));
    await until('the other chart too', async () => (await pixels(tab, 'kl_loss')) !== other);
    await tab.mouse.move(5, 500);
    await until('not the other axis', async () => (await pixels(tab, 'raw_reward')) === pinned);
    await shot(tab, 'metrics-zoom');
    await tab.reload();
    await over(tab, 'kl_loss').waitFor();
    assert.notEqual(await pixels(tab, 'kl_loss'), other);
    await over(tab, 'kl_loss').dblclick({ position: { x: 30, y: 30 } });
    await until('everything', () => !at(tab).includes('z_train'));
    await tab.goBack();
    await until('zoomed again', () => at(tab).includes('z_train=2,5'));
    await tab.keyboard.press('z');
    await until('reset', () => !at(tab).includes('z_train'));
  });

  it('are smoothed with the raw line behind, and logarithmic one by one', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=train' });
    await over(tab, 'grad_norm').waitFor();
    const raw = await pixels(tab, 'grad_norm');
    await tab.getByRole('slider').fill('0.6');
    await until('smoothed', async () => /sm=0.6/.test(at(tab)) && (await pixels(tab, 'grad_norm')) !== raw);
    await over(tab, 'grad_norm').hover({ position: { x: 100, y: 40 } });
    assert.match(await tab.locator('.k-hover').textContent(), /smoothed.*raw/);
    await shot(tab, 'metrics-smooth');
    const loss = await pixels(tab, 'ppo_kl');
    await card(tab, 'ppo_kl').hover();
    await card(tab, 'ppo_kl')
      .getByRole('button', { name: /Log axis/ })
      .click();
    await until('in the address', () => /log=train\/ppo_kl/.test(at(tab)));
    await until('painted so', async () => (await pixels(tab, 'ppo_kl')) !== loss);
  });

  it('are pinned above every category and stay there', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=perf' });
    await over(tab, 'step_time').waitFor();
    await card(tab, 'step_time').hover();
    await card(tab, 'step_time').getByRole('button', { name: /^Pin/ }).click();
    await until('in the address', () => /pin=perf\/step_time/.test(at(tab)));
    await tab.getByRole('button', { name: /^train / }).click();
    await tab.getByRole('region', { name: 'Pinned charts' }).getByText('step_time').waitFor();
    await tab.goto(server.url);
    await tab.getByRole('region', { name: 'Pinned charts' }).getByText('step_time').waitFor();
    await card(tab, 'step_time').hover();
    await card(tab, 'step_time')
      .getByRole('button', { name: /^Unpin/ })
      .click();
    await until('gone', async () => (await tab.getByRole('region', { name: 'Pinned charts' }).count()) === 0);
  });

  it('fill the window, with numbers, by an address that can be sent', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=train&full=train/ppo_kl' });
    const dialog = tab.getByRole('dialog', { name: 'train/ppo_kl' });
    await dialog.locator('.u-over').waitFor();
    assert.match(
      await dialog.locator('.m-stats').textContent(),
      /points.*newest.*mean.*min.*max.*train\/ppo_kl8/,
    );
    await dialog.locator('.u-over').hover({ position: { x: 400, y: 200 } });
    await tab.locator('dialog .k-hover').waitFor();
    await accessible(tab, 'full screen');
    await shot(tab, 'metrics-full');
    await tab.keyboard.press('Escape');
    await until('closed', () => at(tab) === '#/metrics?c=train');
  });

  it('are copied as CSV and as PNG', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=perf' });
    await over(tab, 'step_time').waitFor();
    await card(tab, 'step_time').hover();
    await card(tab, 'step_time').getByRole('button', { name: /CSV/ }).click();
    await tab.getByText('CSV copied').waitFor();
    const csv = (await tab.evaluate(() => navigator.clipboard.readText())).split('\n');
    assert.equal(csv[0], 'rollout/step,ts,perf/step_time');
    assert.equal(csv[1], '0,1767268136.044,216.044');
    assert.equal(csv.length, 10);
    await card(tab, 'step_time').getByRole('button', { name: /PNG/ }).click();
    await tab.getByText(/PNG (copied|saved)/).waitFor();
  });

  it('are read and driven by keys alone', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=rollout' });
    await over(tab, 'raw_reward').waitFor();
    const chart = card(tab, 'raw_reward').getByRole('group');
    assert.match(await chart.getAttribute('aria-label'), /^rollout\/raw_reward, newest 0\.5039: mean reward/);
    await chart.focus();
    await tab.keyboard.press('Home');
    await tab.keyboard.press('ArrowRight');
    await tab.locator('.k-hover').waitFor();
    assert.match(await tab.locator('.k-hover').textContent(), /step 1/);
    await tab.keyboard.press('+');
    await until('zoomed', () => at(tab).includes('z_rollout='));
    await tab.keyboard.press('0');
    await until('everything', () => !at(tab).includes('z_rollout'));
    await tab.keyboard.press('ArrowRight');
    await tab.keyboard.press('Enter');
    await until('that step', () => /#\/rollouts\/\d/.test(at(tab)));
  });

  it('say what a metric means', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=train' });
    await over(tab, 'grad_norm').waitFor();
    await card(tab, 'grad_norm').locator('.m-title button').hover();
    await tab.getByRole('tooltip').waitFor();
    assert.equal(await tab.getByRole('tooltip').textContent(), 'norm of the gradient before clipping');
  });

  it('fit a phone', async (t) => {
    const tab = await page(t, server, {
      path: '#/metrics?c=sglang',
      width: 390,
      height: 844,
      scheme: 'dark',
    });
    await over(tab, 'sglang_cache_hit_rate').waitFor();
    await fits(tab);
    await accessible(tab, 'engines on a phone');
    await shot(tab, 'metrics-390');
  });
});

describe('engines', () => {
  it('are a legend with on and off and one alone, with ranks apart on demand', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=sglang' });
    await over(tab, 'sglang_num_running_reqs').waitFor();
    const engine = tab.getByRole('button', { name: '10.1.1.1:15000' });
    const before = await pixels(tab, 'sglang_num_running_reqs');
    await engine.click();
    await until('off', () => at(tab) === '#/metrics?c=sglang&off=10.1.1.1:15000');
    assert.equal(await engine.getAttribute('aria-pressed'), 'false');
    await until('painted so', async () => (await pixels(tab, 'sglang_num_running_reqs')) !== before);
    await engine.click({ modifiers: ['Shift'] });
    await until('alone', async () => (await tab.locator('.m-engine[aria-pressed="true"]').count()) === 1);
    await tab.getByRole('button', { name: 'All on' }).click();
    await until('on', () => at(tab) === '#/metrics?c=sglang');
    await tab.getByLabel('split by dp rank').check();
    await until('in the address', () => at(tab) === '#/metrics?c=sglang&dp=1');
    await accessible(tab, 'engines');
    await shot(tab, 'metrics-engines');
  });

  it('are asked again for a zoom, and a click opens the step of that time', async (t) => {
    const tab = await page(t, server, { path: '#/metrics?c=sglang' });
    await over(tab, 'sglang_cache_hit_rate').waitFor();
    const asked = tab.waitForRequest((request) => /engine_series.*t0=\d+/.test(request.url()));
    await drag(tab, 'sglang_cache_hit_rate', 0.2, 0.5);
    await asked;
    await until('in the address', () => /z_time=1767\d+/.test(at(tab)));
    await until('one window', async () => (await tab.locator('.k-old').count()) === 0);
    await over(tab, 'sglang_cache_hit_rate').click({ position: { x: 60, y: 40 } });
    await until('a step', () => /#\/rollouts\/\d/.test(at(tab)));
  });

  it('above eight stand behind their mean and the worst of them', async (t) => {
    const lines = [];
    for (let scrape = 0; scrape < 90; scrape += 1) {
      for (let engine = 0; engine < 24; engine += 1) {
        for (const dp_rank of ['0', '1']) {
          lines.push({
            ts: 1_700_000_000 + 2 * scrape,
            addr: `http://10.0.0.${engine}:30000`,
            metric: 'sglang_gen_throughput',
            labels: { dp_rank },
            value: engine === 17 ? 5 : 100 + 20 * Math.sin(scrape / 9 + engine) + engine,
          });
        }
      }
    }
    const many = await serve('-d', runWith({ engine_series: lines }));
    const tab = await page(t, many, { path: '#/metrics?c=sglang' });
    await over(tab, 'sglang_gen_throughput').waitFor();
    await tab.getByText('worst engine').waitFor();
    await until('named', async () =>
      /\d+ engines; worst 10\./.test(await card(tab, 'sglang_gen_throughput').textContent()),
    );
    await over(tab, 'sglang_gen_throughput').hover({ position: { x: 120, y: 60 } });
    await until('said', async () =>
      /mean.*worst.*highest.*lowest/.test(await tab.locator('.k-hover').textContent()),
    );
    await accessible(tab, 'many engines');
    await shot(tab, 'metrics-many-engines');
  });
});

describe('what a run can log', () => {
  const log = (ts, step, metrics, step_key = 'rollout/step') => ({ ts, step_key, step, metrics });

  it('after a restart shows the newest attempt, with the one before behind it', async (t) => {
    const steps = [0, 1, 2, 3, 4, 2, 3, 4, 5];
    const dir = runWith({
      metrics: [
        ...steps.map((step, i) =>
          log(1_700_000_000 + 60 * i, step, { 'rollout/raw_reward': i / 10, 'misc/flag': i > 3 }),
        ),
        log(1_700_000_600, 6, { 'misc/note': 'some text', bare: 1, 'rollout/raw_reward': null }),
        log(1_700_000_610, 40, { 'rollout/own_axis': 3 }, 'train/step'),
      ],
    });
    const odd = await serve('-d', dir);
    const tab = await page(t, odd);
    await over(tab, 'raw_reward').waitFor();
    assert.equal(await value(tab, 'raw_reward'), '0.8');
    const box = await over(tab, 'raw_reward').boundingBox();
    await tab.mouse.move(box.x + box.width * 0.5, box.y + 30);
    assert.match(
      await tab.locator('.k-hover').textContent(),
      /step 3.*value0\.6.*earlier attempt0\.3.*step 3 has no dump/,
    );
    await tab.mouse.click(box.x + box.width * 0.5, box.y + 30);
    await tab.getByText('step 3 has no dump that can be read').first().waitFor();
    await shot(tab, 'metrics-restarted');
    // Logged under another step key than its prefix says.
    await until('found', async () => (await value(tab, 'own_axis')) === '3');
    await tab.getByRole('button', { name: /^misc / }).click();
    await until('a flag is a number', async () => (await value(tab, 'flag')) === '1');
    await until('text is said', async () =>
      /1 value that is text/.test(await card(tab, 'note').textContent()),
    );
    await tab.getByRole('button', { name: /^other / }).click();
    await until('no prefix', async () => (await value(tab, 'bare')) === '1');
  });

  it('is asked for only where it is looked at', async (t) => {
    const metrics = Object.fromEntries(
      Array.from({ length: 300 }, (_, i) => [`big/metric_${String(i).padStart(3, '0')}`, i]),
    );
    const dir = runWith({ metrics: [0, 1, 2].map((step) => log(1_700_000_000 + step, step, metrics)) });
    const big = await serve('-d', dir);
    const tab = await page(t, big);
    const asked = [];
    tab.on('request', (request) => request.url().includes('api/metrics') && asked.push(request.url()));
    await tab.reload();
    await over(tab, 'metric_000').waitFor();
    await tab.waitForTimeout(300);
    assert.ok(asked.length <= 5, `${asked.length} questions`);
    assert.ok((await tab.locator('.u-over').count()) < 60);
    await tab.locator('.m-slot').last().scrollIntoViewIfNeeded();
    await over(tab, 'metric_299').waitFor();
  });
});

describe('a live run', () => {
  it('is painted again only where it has changed', async (t) => {
    const dir = liveDemo();
    const live = await until('a run', async () => serve('-d', dir, '--follow').catch(() => undefined));
    const tab = await page(t, live, { path: '#/metrics?c=sglang&pin=rollout/raw_reward', allow: [/ERR_/] });
    await over(tab, 'raw_reward').waitFor();
    await over(tab, 'sglang_num_running_reqs').waitFor();
    await tab.evaluate(() => {
      const clear = CanvasRenderingContext2D.prototype.clearRect;
      globalThis.painted = new WeakMap();
      CanvasRenderingContext2D.prototype.clearRect = function (...args) {
        globalThis.painted.set(this.canvas, (globalThis.painted.get(this.canvas) ?? 0) + 1);
        return clear.apply(this, args);
      };
    });
    const count = (key) =>
      card(tab, key)
        .locator('canvas')
        .evaluate((canvas) => globalThis.painted.get(canvas) ?? 0);
    await until('engines move', async () => (await count('sglang_num_running_reqs')) >= 2);
    assert.equal(await count('raw_reward'), 0);
  });
});
