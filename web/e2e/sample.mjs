// The view Sample in a real browser. `node e2e/sample.mjs http://127.0.0.1:7788`; of a run with long samples it measures.
import { accessible, base, check, finish, open, scrollFrames, shots } from './rollouts-page.mjs';

const meta = await (await fetch(`${base}/api/meta`)).json();
const step = meta.rollout_ids.train.at(-1);
const { rows } = await (await fetch(`${base}/api/rollout/${step}/summary`)).json();
const talk = [];
for (const row of rows.slice(0, 40)) {
  const answer = await fetch(`${base}/api/rollout/${step}/sample/${row.sample_index}/messages`);
  if (answer.ok) talk.push(row);
  if (talk.length > 1) break;
}
const longest = rows.toSorted((a, b) => b.total_length - a.total_length)[0];
const [first, second] = talk.length > 1 ? talk : rows;
const page = await open();
const hash = () => page.evaluate(() => decodeURIComponent(location.hash));

await page.at(`#/sample/${step}/${first.sample_index}`);
await page.waitForSelector('.s-turn');
check('turns', (await page.locator('.s-turn').count()) > 1);
check(
  'nothing of the data ran',
  (await page.title()) !== 'OWNED' &&
    (await page.locator('main script, main img, main style, main iframe, main svg').count()) === 0,
);
await page.screenshot({ path: `${shots}sample-conversation.png` });
await accessible(page, 'conversation');
await page.locator('[data-search]').fill('the');
await page.waitForTimeout(400);
check(
  'search in text counts',
  /1 of \d+/.test(await page.locator('.s-find .s-count').innerText()),
  await page.locator('.s-find .s-count').innerText(),
);
await page.keyboard.press('Enter');
await page.waitForTimeout(300);
check('and goes on', /2 of \d+/.test(await page.locator('.s-find .s-count').innerText()));
await page.screenshot({ path: `${shots}sample-search.png` });
await page.locator('[data-search]').fill('');
await page.locator('[data-search]').blur();
await page.keyboard.press('j');
await page.waitForTimeout(400);
check('j goes to the next of the group', !(await hash()).includes(`/${first.sample_index}`), await hash());
await page.goBack();
await page.waitForTimeout(300);
check('back', (await hash()).includes(`/${first.sample_index}`));

await page.at(`#/sample/${step}/${first.sample_index}?tab=tokens`);
await page.waitForSelector('.s-tok');
const other = page.locator('.s-bar .k-select').first();
await other.selectOption('entropy');
check('the series is in the address', (await hash()).includes('by=entropy'));
await other.selectOption('lp_diff');
await page.locator('.s-tok').nth(5).hover();
await page.waitForSelector('.k-hover');
check('hover shows every series', (await page.locator('.k-hover').innerText()).includes('imp ratio'));
await page.screenshot({ path: `${shots}sample-hover.png` });
await page.mouse.move(5, 5);
await page.keyboard.press('n');
await page.waitForSelector('.s-mark');
await page.waitForTimeout(400);
check('n goes to an outlier', (await hash()).includes('tok='), await page.locator('.s-marked').innerText());
const strip = await page.locator('.s-strip canvas').nth(1).boundingBox();
await page.mouse.move(strip.x + strip.width * 0.4, strip.y + 30);
await page.mouse.down();
await page.mouse.move(strip.x + strip.width * 0.6, strip.y + 30, { steps: 4 });
await page.mouse.up();
await page.waitForTimeout(300);
check(
  'a drag on the strip zooms both',
  (await hash()).includes('t=') && Number(await page.locator('.s-at').first().innerText()) > 0,
  await hash(),
);
await page.screenshot({ path: `${shots}sample-tokens-zoom.png` });
await accessible(page, 'tokens, light');
await page.goBack();
await page.waitForTimeout(300);
check('back undoes the zoom', !(await hash()).includes('t='));
await page.at(`#/sample/${step}/${first.sample_index}?tab=tokens&with=${second.sample_index}`);
await page.waitForFunction(() => document.querySelectorAll('.s-pane .s-text').length === 2);
await page.waitForTimeout(500);
check('two side by side', (await page.locator('.s-pane').count()) === 2);
await page.screenshot({ path: `${shots}sample-two.png` });

const started = Date.now();
await page.goto(`${base}/#/sample/${step}/${longest.sample_index}?tab=tokens`);
await page.waitForSelector('.s-tok');
const seen = Date.now() - started;
await page.waitForFunction(() => !document.querySelector('.s-bar [role=status]'), undefined, {
  timeout: 60_000,
});
process.stdout.write(
  `${longest.total_length} tokens: first text after ${seen} ms, all values after ${Date.now() - started} ms\n`,
);
process.stdout.write(`scroll of them, frames: ${JSON.stringify(await scrollFrames(page, '.s-text', 120))}\n`);
await page.evaluate(() => (document.querySelector('.s-text').scrollTop = 1e9));
await page.waitForTimeout(200);
check(
  'the end is there',
  (await page.locator('.s-tok').last().getAttribute('data-t')) === String(longest.total_length - 1),
);
await page.keyboard.press('n');
await page.waitForTimeout(200);
await page.screenshot({ path: `${shots}sample-long.png` });
check('no errors on the console', page.errors.length === 0, page.errors.join(' | ').slice(0, 600));

const dark = await open({ scheme: 'dark' });
await dark.at(`#/sample/${step}/${first.sample_index}?tab=tokens`);
await dark.waitForSelector('.s-tok');
await accessible(dark, 'tokens, dark');
await dark.screenshot({ path: `${shots}sample-dark.png` });
await dark.at(`#/sample/${step}/${first.sample_index}`);
await dark.waitForSelector('.s-turn');
await accessible(dark, 'conversation, dark');
const narrow = await open({ width: 390, height: 844 });
for (const tab of ['conversation', 'tokens']) {
  await narrow.at(`#/sample/${step}/${first.sample_index}?tab=${tab}`);
  await narrow.waitForTimeout(600);
  const wide = await narrow.evaluate(() => document.documentElement.scrollWidth);
  check(`390 px: ${tab}`, wide <= 390, `${wide} px`);
  await narrow.screenshot({ path: `${shots}sample-390-${tab}.png` });
}
await finish();
