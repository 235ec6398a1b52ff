// The Compute Utilization view in a browser: every clause of its description, on a small run, 64 lanes over hours, fleets
// of 72 and 1,024 lanes, and a run that goes on. COMPUTE_PAGES may name pages that are served already, as JSON
// {small, wide, fleet, large, live}: addresses of the page. With COMPUTE_FRAMES=1 panning must keep 55 frames a second;
// else the frames are only printed, since a shared machine says nothing about the page.

import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { accessible, at, close, demo, fits, liveDemo, page, serve, shot, until } from './harness.mjs';

const given = JSON.parse(process.env.COMPUTE_PAGES ?? '{}');
const servers = new Map();
const RUNS = {
  small: () => serve('-d', demo()),
  wide: () => serve('-d', demo('--nodes', '8', '--gpus', '8', '--minutes', '240')),
  fleet: () => serve('-d', demo('--nodes', '9', '--gpus', '8', '--minutes', '20')),
  large: () => serve('-d', demo('--nodes', '128', '--gpus', '8', '--minutes', '10', '--steps', '2')),
  live: async () => {
    const dir = liveDemo('--minutes', '10');
    await new Promise((resolve) => setTimeout(resolve, 4000));
    return serve('-d', dir, '--follow');
  },
};
async function server(name) {
  if (!servers.has(name)) servers.set(name, given[name] ? { url: given[name] } : await RUNS[name]());
  return servers.get(name);
}
after(close);

async function open(t, name, params = '', options = {}) {
  const tab = await page(t, await server(name), { path: `#/compute${params}`, ...options });
  await tab.waitForSelector('.c-detail canvas');
  return tab;
}
const box = (tab, selector) => tab.locator(selector).first().boundingBox();
const windowText = (tab) => tab.locator('.c-window .c-quiet').textContent();
const quiet = (tab) => tab.waitForLoadState('networkidle');
/** Whether pictures have colours in them. Looked at in a copy: a canvas that is read from becomes a slow one. */
const painted = (tab, selector) =>
  tab.locator(`${selector} .c-content canvas`).evaluateAll((canvases) =>
    canvases.every((canvas) => {
      const [width, height] = [300, 150];
      const ctx = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
      ctx.imageSmoothingEnabled = false;
      ctx.drawImage(canvas, 0, 0, width, height);
      const { data } = ctx.getImageData(0, 0, width, height);
      const colours = new Set();
      for (let i = 0; i < data.length; i += 4) {
        if (data[i + 3] > 0) colours.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      }
      return colours.size > 3;
    }),
  );

describe('the carpet and the detail', () => {
  it('show lanes over time in every metric, light and dark, and are accessible', async (t) => {
    const tab = await open(t, 'small', '', { height: 1300 });
    await until('a carpet', () => painted(tab, '.c-carpet'));
    await until('a detail', () => painted(tab, '.c-detail'));
    await accessible(tab, 'compute, light');
    await shot(tab, 'compute-light');
    for (const [name, word] of [
      ['Phase', 'phase'],
      ['Memory', 'mem_mb'],
      ['Power', 'power_w'],
      ['Lifecycle', 'lifecycle'],
    ]) {
      await tab.getByRole('radio', { name, exact: true }).check({ force: true });
      await until(word, () => at(tab) === `#/compute?carpet=${word}`);
      await quiet(tab);
      if (word !== 'lifecycle') await until(`carpet of ${word}`, () => painted(tab, '.c-carpet'));
      await shot(tab, `compute-carpet-${word}`);
    }
    const dark = await open(t, 'small', '', { scheme: 'dark', height: 1300 });
    await until('a dark detail', () => painted(dark, '.c-detail'));
    await accessible(dark, 'compute, dark');
    await shot(dark, 'compute-dark');
  });

  it('take clicked and brushed lanes into the detail, and give them up again', async (t) => {
    const tab = await open(t, 'wide');
    await quiet(tab);
    const carpet = await box(tab, '.c-carpet');
    await tab.mouse.click(carpet.x + 500, carpet.y + 7 * 10 + 3);
    await until('lane 10', () => at(tab) === '#/compute?lanes=g:10');
    await tab.mouse.move(carpet.x + 60, carpet.y + 7 * 20 + 3);
    await tab.mouse.down();
    await tab.mouse.move(carpet.x + 60, carpet.y + 7 * 23 + 3, { steps: 4 });
    await tab.mouse.up();
    await until('lanes 20 to 23', () => at(tab) === '#/compute?lanes=g:10,g:20-23');
    await tab.getByText('5 of 64 lanes').waitFor();
    await tab.mouse.click(carpet.x + 500, carpet.y + 7 * 10 + 3);
    await until('without lane 10', () => at(tab) === '#/compute?lanes=g:20-23');
    await tab.goBack();
    await until('back', () => at(tab) === '#/compute?lanes=g:10,g:20-23');
    await tab.goForward();
    await until('forward', () => at(tab) === '#/compute?lanes=g:20-23');
    // By keyboard: the carpet, the first lane, in.
    await tab.mouse.move(5, 5);
    await tab.locator('.c-carpet').focus();
    await tab.keyboard.press('ArrowDown');
    await tab.keyboard.press('Enter');
    await until('by keyboard', () => at(tab) === '#/compute?lanes=g:0,g:20-23');
  });

  it('take a selector, say what is wrong with it, and have quick picks', async (t) => {
    const tab = await open(t, 'wide', '', { allow: [/400/] });
    const field = tab
      .getByRole('combobox', { name: /selector/ })
      .or(tab.getByRole('searchbox', { name: /selector/ }));
    await field.fill('rank:0-3, node:10.1.1.2');
    await field.press('Enter');
    await until('in the address', () => at(tab) === '#/compute?lanes=rank:0-3,node:10.1.1.2');
    await tab.getByText('12 of 64 lanes').waitFor();
    assert.equal(await tab.locator('.c-chips .k-chip').count(), 2);
    await field.fill('bogus:1');
    await field.press('Enter');
    await tab.getByRole('alert').filter({ hasText: 'unknown lane selector' }).waitFor();
    await tab.locator('.k-chip', { hasText: 'bogus' }).getByRole('button').click();
    await tab.getByText('12 of 64 lanes').waitFor();
    for (const name of ['Lowest util', 'Slowest update_weights', 'Slowest actor_train']) {
      const before = at(tab);
      await tab.getByRole('button', { name }).click();
      await until(name, () => at(tab) !== before && at(tab).includes('lanes=g:'));
      await tab.locator('.c-scores b').first().waitFor();
    }
    await shot(tab, 'compute-picks');
  });

  it('say at the pointer what is there', async (t) => {
    const tab = await open(
      t,
      'small',
      '?t=1767268200,1767268700&engine_metric=sglang_num_running_reqs&mem=1',
      { height: 1300 },
    );
    await quiet(tab);
    await until('a detail', () => painted(tab, '.c-detail'));
    const detail = await box(tab, '.c-detail');
    await tab.mouse.move(detail.x + 600, detail.y + 100);
    const card = tab.locator('.c-hover');
    for (const text of [
      '10.1.1.1 · GPU 1',
      'rollout',
      'rank 1',
      'utilization',
      'memory',
      'engine 0',
      'num_running_reqs',
      'processes by memory',
      'sglang::scheduler',
    ])
      await card.getByText(text).first().waitFor();
    assert.match(await card.textContent(), /\+0:0\d:\d\d/);
    await shot(tab, 'compute-hover');
    await tab.getByRole('radio', { name: 'Wall clock' }).check({ force: true });
    await tab.mouse.move(detail.x + 610, detail.y + 102);
    await until('wall clock', async () => /11:\d\d:\d\d/.test(await card.textContent()));
  });

  it('zoom at the pointer, pan, brush, and go back to everything', async (t) => {
    const tab = await open(t, 'wide');
    await quiet(tab);
    const everything = await windowText(tab);
    const carpet = await box(tab, '.c-carpet');
    await tab.mouse.move(carpet.x + 700, carpet.y + 30);
    for (let n = 0; n < 6; n += 1) await tab.mouse.wheel(0, -240);
    await until('zoomed', () => /t=/.test(at(tab)));
    const zoomed = at(tab);
    await tab.mouse.down();
    await tab.mouse.move(carpet.x + 500, carpet.y + 30, { steps: 5 });
    await tab.mouse.up();
    await until('panned', () => at(tab) !== zoomed);
    await until('a picture', () => painted(tab, '.c-carpet'));
    await shot(tab, 'compute-zoomed');
    await tab.reload();
    await tab.waitForSelector('.c-detail canvas');
    await tab.locator('.c-carpet').focus();
    await tab.keyboard.press('0');
    await until('everything', async () => (await windowText(tab)) === everything && at(tab) === '#/compute');
  });

  it('zoom to a step that is clicked in the strip, and to the next by key', async (t) => {
    const tab = await open(t, 'small');
    await quiet(tab);
    const strip = await box(tab, '.c-steps');
    await tab.mouse.click(strip.x + 148 + 0.15 * (strip.width - 148), strip.y + 10);
    await until('a step', () => /t=/.test(at(tab)));
    const first = at(tab);
    await tab.keyboard.press('.');
    await until('the next step', () => at(tab) !== first);
    await shot(tab, 'compute-step');
    await tab.goBack();
    await until('back', () => at(tab) === first);
  });

  it('fit a phone', async (t) => {
    const tab = await open(t, 'small', '', { width: 390, height: 844 });
    await until('a detail', () => painted(tab, '.c-detail'));
    await fits(tab);
    await accessible(tab, 'compute, 390 px');
    await shot(tab, 'compute-390', { fullPage: true });
  });
});

describe('panels', () => {
  it('show MFU, and advisories with rule, evidence and window', async (t) => {
    const tab = await open(t, 'wide');
    const panel = tab.locator('.c-advisories');
    await panel.getByText('phase.stalled').waitFor();
    await panel.getByText('median').first().waitFor();
    await panel
      .getByRole('button', { name: /judged/ })
      .first()
      .click();
    await until('its window', () => /t=/.test(at(tab)));
    assert.match(await tab.locator('.c-tiles').textContent(), /mean\d+\.\d %/);
  });
});

describe('a fleet', () => {
  for (const [name, lanes] of [
    ['fleet', '72'],
    ['large', '1\u202f?.?024'],
  ]) {
    it(`of ${name === 'fleet' ? '72' : '1,024'} lanes is an overview, and lanes can be chosen`, async (t) => {
      const tab = await open(t, name, '', { height: 1200 });
      await until('composition and band', () => painted(tab, '.c-fleet'));
      await tab.getByText(new RegExp(`of ${lanes} lanes`)).waitFor();
      const map = await box(tab, '.c-map canvas');
      await tab.mouse.click(map.x + 3, map.y + 3);
      await until('a lane', () => at(tab) === '#/compute?lanes=g:0');
      await tab.mouse.move(map.x + 2, map.y + 2);
      await tab.mouse.down();
      await tab.mouse.move(map.x + 20, map.y + 20, { steps: 4 });
      await tab.mouse.up();
      await until('more lanes', () => /lanes=g:0-/.test(at(tab)));
      const before = at(tab);
      await tab.getByRole('button', { name: 'Slowest actor_train' }).click();
      await until('picked', () => at(tab) !== before);
      await quiet(tab);
      await accessible(tab, name);
      await shot(tab, `compute-${name}`);
    });
  }

  it('of few lanes can be had too', async (t) => {
    const tab = await open(t, 'small', '?mode=fleet');
    await until('composition and band', () => painted(tab, '.c-fleet'));
  });
});

describe('a run that goes on', () => {
  it('is followed until the reader pans away, and again when told', async (t) => {
    const tab = await open(t, 'live');
    const first = await windowText(tab);
    await until('it moves', async () => (await windowText(tab)) !== first);
    const carpet = await box(tab, '.c-carpet');
    await tab.mouse.move(carpet.x + 900, carpet.y + 30);
    for (let n = 0; n < 5; n += 1) await tab.mouse.wheel(0, -240);
    await tab.mouse.down();
    await tab.mouse.move(carpet.x + 1100, carpet.y + 30, { steps: 5 });
    await tab.mouse.up();
    await until('away', () => /t=/.test(at(tab)));
    const follow = tab.getByRole('button', { name: 'Follow' });
    assert.equal(await follow.getAttribute('aria-pressed'), 'false');
    await follow.click();
    await until('again', () => !/[?&]t=/.test(at(tab)));
    await shot(tab, 'compute-live');
  });
});

describe('frames', () => {
  it('are kept while 64 lanes and four hours are panned and zoomed', async (t) => {
    const tab = await open(t, 'wide', '?lanes=g:0-7');
    await quiet(tab);
    const session = await tab.context().newCDPSession(tab);
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const cpu = async () =>
      Object.fromEntries(
        (await session.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]),
      );
    for (const kind of ['zoom', 'pan']) {
      const before = await cpu();
      const frames = await tab.evaluate(async (kind) => {
        const plot = document.querySelector('.c-carpet');
        const { left, top } = plot.getBoundingClientRect();
        plot.setPointerCapture = () => undefined;
        const send = (type, x) =>
          plot.dispatchEvent(
            new PointerEvent(type, { clientX: x, clientY: top + 20, button: 0, pointerId: 1, bubbles: true }),
          );
        const times = [];
        if (kind === 'pan') send('pointerdown', left + 700);
        await new Promise((done) => {
          const step = (t) => {
            times.push(t);
            const n = times.length;
            if (n > 240) return done();
            if (kind === 'pan') send('pointermove', left + 700 + 420 * Math.sin(n / 30));
            else
              plot.dispatchEvent(
                new WheelEvent('wheel', {
                  deltaY: n < 140 ? -12 : 9,
                  clientX: left + 800,
                  clientY: top + 20,
                  bubbles: true,
                  cancelable: true,
                }),
              );
            requestAnimationFrame(step);
          };
          requestAnimationFrame(step);
        });
        if (kind === 'pan') send('pointerup', left + 700);
        return times.slice(1).map((t, i) => t - times[i]);
      }, kind);
      const after = await cpu();
      const rate = 1000 / (frames.reduce((a, b) => a + b, 0) / frames.length);
      const each = (name) => ((1000 * (after[name] - before[name])) / frames.length).toFixed(2);
      const middle = frames.toSorted((a, b) => a - b)[frames.length >> 1];
      t.diagnostic(
        `${kind}: ${rate.toFixed(1)} frames/s, median ${middle.toFixed(1)} ms, main thread ${each('TaskDuration')} ms of CPU a frame (script ${each('ScriptDuration')}, layout ${each('LayoutDuration')})`,
      );
      if (process.env.COMPUTE_FRAMES === '1') assert.ok(rate >= 55, `${kind}: ${rate} frames a second`);
      await tab.waitForTimeout(800);
    }
  });
});
