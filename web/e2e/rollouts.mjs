// The view Rollouts in a real browser: every interaction once. `node e2e/rollouts.mjs http://127.0.0.1:7788`, of a demo run.
import { readFileSync } from 'node:fs';
import { accessible, base, check, finish, open, scrollFrames, shots } from './rollouts-page.mjs';

const meta = await (await fetch(`${base}/api/meta`)).json();
const step = meta.rollout_ids.train.at(-1);
const page = await open();
const rows = () => page.locator('.r-samples tbody tr[data-at]').count();
const hash = () => page.evaluate(() => decodeURIComponent(location.hash));
const started = Date.now();
await page.goto(`${base}/#/rollouts/${step}`);
await page.waitForSelector('.r-samples tbody tr[data-at]');
process.stdout.write(`first rows after ${Date.now() - started} ms\n`);
check('tiles', (await page.locator('.r-tiles li').count()) === 9);
check('rows', (await rows()) > 5);
await page.screenshot({ path: `${shots}rollouts.png` });
await accessible(page, 'samples, light');

const header = (name) => page.locator('.k-sort', { hasText: name }).first();
let before = Date.now();
await header('reward').click();
await page.waitForFunction(() => location.hash.includes('sort='));
process.stdout.write(`sorted after ${Date.now() - before} ms\n`);
await header('response_length').click({ modifiers: ['Shift'] });
await page.waitForTimeout(100);
check(
  'sort by two columns is in the address',
  (await hash()).includes('sort=-reward,-response_length'),
  await hash(),
);
await page.goBack();
check(
  'back takes one',
  (await hash()).includes('sort=-reward') && !(await hash()).includes('response_length'),
);
await page.goForward();

const total = Number(
  (await page.locator('[role=tab]').first().locator('.k-tab-count').innerText()).replace(/\D/g, ''),
);
await page.getByLabel(/^Filter truncated/).fill('yes');
await page.waitForSelector('.r-filters');
check(
  'a filter cuts the table',
  (await page.locator('.r-filters').innerText()).includes(`of ${total}`) || total > 999,
);
await page.locator('.r-filters .k-chip-remove').first().click();
check('its chip takes it away', (await page.locator('.r-filters').count()) === 0);

const plot = await page.locator('.r-layers canvas').nth(1).boundingBox();
await page.mouse.move(plot.x + 60, plot.y + 12);
await page.mouse.down();
await page.mouse.move(plot.x + plot.width * 0.6, plot.y + plot.height * 0.5, { steps: 5 });
await page.mouse.up();
await page.waitForSelector('.r-filters');
check(
  'a box on the scatter filters by both columns',
  (await page.locator('.r-filters .k-chip').count()) === 2,
  await hash(),
);
await page.screenshot({ path: `${shots}rollouts-brush.png` });
await page.locator('.r-filters .k-button').click();

for (const [kind, sign] of [
  ['csv', 'sample_index,'],
  ['jsonl', '{"sample_index"'],
  ['parquet', 'PAR1'],
]) {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByLabel('Export').selectOption(kind),
  ]);
  const content = readFileSync(await download.path());
  check(
    `export ${kind}`,
    content.subarray(0, sign.length).toString() === sign,
    `${download.suggestedFilename()}, ${content.length} bytes`,
  );
}

await page.getByRole('button', { name: /^Columns/ }).click();
await page.getByRole('button', { name: 'All', exact: true }).click();
await page.keyboard.press('Escape');
await page.waitForTimeout(200);
check('all columns', (await page.locator('.r-samples thead th').count()) >= 30);
process.stdout.write(
  `table of all columns, frames: ${JSON.stringify(await scrollFrames(page, '.k-table-scroll', 60))}\n`,
);

await page.locator('.r-samples tbody tr[data-at]').nth(3).focus();
await page.keyboard.press('ArrowDown');
await page.waitForTimeout(100);
await page.keyboard.press('Enter');
await page.waitForSelector('.s-head');
check('Enter opens a sample', (await hash()).startsWith('#/sample/'));
await page.goBack();
await page.waitForSelector('.r-samples tbody tr[data-at]');

await page.at(`#/rollouts/${step}?tab=anatomy`);
await page.waitForSelector('.r-anatomy');
await page.getByLabel('Sort by').selectOption('span');
check('the order of the anatomy is in the address', (await hash()).includes('order=span'));
const anatomy = await page.locator('.r-anatomy-frame canvas').nth(1).boundingBox();
await page.mouse.move(anatomy.x + 300, anatomy.y + 40);
await page.waitForSelector('.k-hover');
check('hover tells of the sample', (await page.locator('.k-hover').innerText()).includes('until consumed'));
await page.screenshot({ path: `${shots}rollouts-anatomy.png` });
await page.keyboard.down('Control');
await page.mouse.wheel(0, -400);
await page.keyboard.up('Control');
await page.waitForTimeout(500);
check('a zoom is in the address', (await hash()).includes('t='));
await accessible(page, 'anatomy');

await page.at(`#/rollouts/${step}?tab=groups`);
await page.locator('tbody tr[data-at]').nth(1).click();
await page.waitForSelector('.r-member');
await page.waitForTimeout(800);
check('a group opens side by side', (await page.locator('.r-member').count()) > 1, await hash());
await page.screenshot({ path: `${shots}rollouts-group.png` });
await accessible(page, 'group');
await page.keyboard.press('Escape');
await page.screenshot({ path: `${shots}rollouts-groups.png` });

await page.at(`#/rollouts/${step}?tab=text`);
await page.locator('[data-search]').fill('the');
await page.keyboard.press('Enter');
await page.waitForSelector('.r-hits li');
await page.waitForSelector('.r-progress-done', { state: 'attached' });
check(
  'text search says what it searched',
  /Searched .* of/.test(await page.locator('.r-search .r-note').first().innerText()),
  await page.locator('.r-search .r-note').first().innerText(),
);
await page.screenshot({ path: `${shots}rollouts-text.png` });
await accessible(page, 'text search');

await page.at(`#/rollouts/${step}`);
if (meta.rollout_ids.train.length > 1) {
  await page.getByLabel('Previous step').click();
  await page.waitForTimeout(300);
  check(
    'previous step',
    (await hash()).startsWith(`#/rollouts/${meta.rollout_ids.train.at(-2)}`),
    await hash(),
  );
}
if (meta.rollout_ids.eval.length > 0) {
  await page.locator('.r-nav .k-segmented label').nth(1).click();
  await page.waitForSelector('.r-samples tbody tr[data-at]');
  check('evaluation', (await hash()).includes('eval=1'));
  await page.screenshot({ path: `${shots}rollouts-eval.png` });
}
check('no errors on the console', page.errors.length === 0, page.errors.join(' | ').slice(0, 600));

const dark = await open({ scheme: 'dark' });
await dark.at(`#/rollouts/${step}`);
await dark.waitForSelector('.r-samples tbody tr[data-at]');
await accessible(dark, 'samples, dark');
await dark.screenshot({ path: `${shots}rollouts-dark.png` });
const narrow = await open({ width: 390, height: 844 });
for (const tab of ['samples', 'anatomy', 'groups', 'text']) {
  await narrow.at(`#/rollouts/${step}?tab=${tab}`);
  await narrow.waitForTimeout(600);
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  check(`390 px: ${tab}`, wide <= 390, `${wide} px`);
  await narrow.screenshot({ path: `${shots}rollouts-390-${tab}.png` });
}
check(
  'no errors in dark and at 390 px',
  dark.errors.length + narrow.errors.length === 0,
  [...dark.errors, ...narrow.errors].join(' | '),
);
await finish();
