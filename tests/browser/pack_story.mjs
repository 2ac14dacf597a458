// What a viewer sees of the history packs, on a gateway with Redis and Kafka. Each step takes what the one before it left.
import assert from 'node:assert/strict';
import { assertAccessible, assertTouchTargets } from './accessibility.mjs';
import { PATIENCE_MS } from './demo_page.mjs';
import { assertReadable } from './sight.mjs';

// Of user 42, whom the page begins with.
const REGION = '19';
const BOTS = 40;
const ROWS_MAX = 40;
const VIEWS = {
  wide: { size: { width: 1280, height: 800 }, colorScheme: 'light', contrast: true },
  dark: { size: { width: 1280, height: 800 }, colorScheme: 'dark', contrast: true },
  narrow: { size: { width: 390, height: 844 }, colorScheme: 'light' },
  'narrow-dark': { size: { width: 390, height: 844 }, colorScheme: 'dark' },
};

// Runs in the page: remembers how many rows have come, and whether each came before all others.
function watchRows() {
  const list = document.querySelector('[data-role=packs-list]');
  window.packsSeen = { count: 0, notFirst: 0 };
  new MutationObserver((records) => {
    for (const { addedNodes, previousSibling } of records) {
      window.packsSeen.count += addedNodes.length;
      if (addedNodes.length > 0 && previousSibling) window.packsSeen.notFirst += 1;
    }
  }).observe(list, { childList: true });
}

function seen(demo) {
  return demo.page.evaluate(() => window.packsSeen);
}

function untilSeen(demo, least) {
  return demo.until(`${least} packs`, (least) => window.packsSeen.count >= least, least);
}

// Until no user has changes that wait, and the page has had as many rows as the gateway has sent packs.
async function untilOneRowEach(demo, gateway) {
  const giveUp = performance.now() + PATIENCE_MS;
  for (;;) {
    const metrics = await gateway.metrics();
    const [listed, sent] = [metrics.heartline_history_listed_users, metrics.heartline_history_packs_total];
    const { count } = await seen(demo);
    if (listed === 0 && count === sent) return;
    assert.ok(performance.now() < giveUp, `${count} rows for ${sent} packs; ${listed} users wait`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const steps = [
  [
    'the strip of packs follows no stream until it is visible',
    async ({ demo }) => {
      await demo.phone.online();
      await demo.page.locator('[data-role=packs]:not([hidden])').waitFor({ state: 'attached' });
      assert.equal(await demo.packs.root.getAttribute('data-state'), 'closed');
      await demo.page.evaluate(watchRows);
      await demo.openHood();
      await demo.packs.untilState('open');
      await demo.packs.untilShown('packs-none');
      assert.equal(await demo.packs.part('packs-list').isVisible(), false);
    },
  ],
  [
    'played beats leave in packs of their region',
    async ({ demo }) => {
      await demo.phone.click('play');
      const row = demo.packs.rows().first();
      await row.waitFor();
      assert.equal(await row.getAttribute('data-region'), REGION);
      assert.equal(await row.getAttribute('data-users'), '1');
      assert.ok(Number(await row.getAttribute('data-bytes')) > 0);
      assert.equal(await demo.packs.part('packs-none').isVisible(), false);
      // Playback goes on, and so do its packs.
      await untilSeen(demo, 2);
      await demo.phone.pause();
    },
  ],
  [
    'each new pack is listed first, and only a few are kept',
    async ({ demo }) => {
      await demo.crowd.resize(BOTS);
      await untilSeen(demo, ROWS_MAX + 20);
      assert.equal(await demo.packs.rows().count(), ROWS_MAX);
      assert.equal((await seen(demo)).notFirst, 0);
      const regions = await demo.packs.rows().evaluateAll((rows) => new Set(rows.map((row) => row.dataset.region)).size);
      assert.ok(regions > 1, `${regions} regions`);
    },
  ],
  [
    'each pack that the gateway sent had one row',
    async ({ demo, gateway }) => {
      await demo.crowd.resize(0);
      await untilOneRowEach(demo, gateway);
    },
  ],
  [
    'the strip of packs fits light, dark and a phone',
    async ({ demo, shot }) => {
      const { page } = demo;
      for (const [name, { size, colorScheme, contrast = false }] of Object.entries(VIEWS)) {
        await page.setViewportSize(size);
        await page.emulateMedia({ colorScheme });
        await assertReadable(page, name);
        await assertAccessible(page, `packs, ${name}`, { contrast });
        await assertTouchTargets(page, `packs, ${name}`);
        await shot(`packs-${name}`);
        await shot(`packs-${name}-strip`, demo.packs.root);
      }
    },
  ],
  [
    'a closed hood follows no stream, and an open one continues after a restart of the gateway',
    async ({ demo, gateway }) => {
      const hood = demo.page.locator('[data-role=hood]');
      await hood.locator('summary').click();
      await demo.packs.untilState('closed');
      await hood.locator('summary').click();
      await demo.packs.untilState('open');
      await gateway.kill();
      await demo.packs.untilState('away');
      await demo.packs.untilShown('packs-fault');
      await gateway.start();
      await demo.packs.untilState('open');
      assert.equal(await demo.packs.part('packs-fault').isVisible(), false);
      const { count } = await seen(demo);
      await demo.phone.online();
      await demo.phone.click('play');
      await untilSeen(demo, count + 1);
    },
  ],
];
