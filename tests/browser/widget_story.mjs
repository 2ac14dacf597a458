// The widget on a page of another origin: it follows the viewers of the demo. Each step continues with the state of the
// one before.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { assertAccessible } from './accessibility.mjs';
import { ForeignSite } from './foreign_site.mjs';
import { assertReadable } from './sight.mjs';
import { WidgetPage } from './widget_page.mjs';

const BOTS = 12;
const PHONE = 1;
const BYTES_MAX = 3_000;
// After the restart viewers run out: a session is live for so long after its last beat.
const RUNS_OUT = '3s';
const PERIOD_MS = 2_000;
const VIEWS = {
  wide: { viewport: { width: 1280, height: 800 }, contrast: true },
  'wide-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark', contrast: true },
  narrow: { viewport: { width: 390, height: 844 } },
  'narrow-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
};

// One request that is not answered hides the number until the next one.
function untilOneWatches(device) {
  const shown = '[data-role=watching][data-count="1"]:not([hidden])';
  return device.root.locator(shown, { hasText: /^\s*1 watching\s*$/ }).waitFor();
}

export const steps = [
  [
    'the script is small',
    async ({ gateway }) => {
      const script = Buffer.from(await (await fetch(`${gateway.url}/widget/v1.js`)).arrayBuffer());
      assert.ok(gzipSync(script).length <= BYTES_MAX, `${gzipSync(script).length} bytes`);
    },
  ],
  [
    'without viewers the widget shows a number and no content',
    async ({ demo, gateway, memory }) => {
      memory.site = await ForeignSite.open(gateway.url);
      memory.context = await demo.page.context().browser().newContext();
      memory.first = await WidgetPage.open(memory.site, memory.context);
      const { page } = memory.first;
      await memory.first.until('all', /^0 watching$/);
      for (const id of ['dawn', 'unknown']) assert.equal(await page.locator(`#${id} > span`).isVisible(), false, id);
      assert.equal(await demo.phone.part('watching').isVisible(), false);
    },
  ],
  [
    'the widget and the players of the demo follow a crowd',
    async ({ demo, memory: { first }, shot }) => {
      const { page } = first;
      await demo.openHood();
      await demo.phone.online();
      await demo.phone.setLoop(true);
      await demo.phone.click('play');
      await demo.crowd.resize(BOTS);
      await first.until('all', new RegExp(`^${BOTS + PHONE} watching$`));
      await first.until('dawn', /^1 watching$/);
      await first.until('list', new RegExp(`^${BOTS + PHONE} in the hall`));
      assert.equal(await page.locator('#list li').count(), 3);
      assert.match(await page.locator('#list li').first().innerText(), /^1:\d+ \d+$/);
      for (const device of demo.devices()) await untilOneWatches(device);
      await shot('widget-players');
    },
  ],
  [
    'a user with two players is one person',
    async ({ demo: { phone, tv }, gateway }) => {
      await tv.click('play');
      await tv.untilAtLeast('acked', 'data-count', 1);
      // Both sessions are live: the phone says nothing more since the TV has taken over, and its last beat counts for a while.
      for (const until = performance.now() + 3_000; performance.now() < until;) {
        const { top } = await (await fetch(gateway.url + '/widget/v1.json')).json();
        assert.deepEqual(top.filter(({ oid }) => oid === '100').map(({ users }) => users), [1]);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      for (const device of [phone, tv]) await untilOneWatches(device);
      await tv.pause();
    },
  ],
  [
    'all widgets of a page share one feed and ask at most every two seconds',
    async ({ memory: { first } }) => {
      const { page, faults } = first;
      await first.untilAsked(4);
      // By the clock of the page: what a test hears of requests comes late.
      const began = await page.evaluate(() => {
        const all = performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/widget/v1.json'));
        return all.map(({ startTime }) => startTime);
      });
      const apart = began.slice(1).map((moment, index) => moment - began[index]);
      assert.ok(apart.length >= 3 && Math.min(...apart) >= PERIOD_MS, `ms apart: ${apart.map(Math.round)}`);
      assert.deepEqual(faults, []);
    },
  ],
  [
    'a hidden page asks nothing and asks at once when it is shown again',
    async ({ memory }) => {
      const { first, site, context } = memory;
      const other = await WidgetPage.open(site, context);
      await other.until('all', /watching$/);
      await first.setHidden(true);
      await other.untilAsked(1);
      const before = first.asked.length;
      await other.untilAsked(4);
      assert.equal(first.asked.length, before, 'while another page asked four times');
      await first.setHidden(false);
      await first.untilAsked(2);
      await other.page.close();
    },
  ],
  [
    'one request that fails hides nothing',
    async ({ memory: { first } }) => {
      await first.until('all', /watching$/);
      await first.watchHidden('all');
      const failed = first.page.waitForEvent('requestfailed', (request) => request.url().endsWith('/widget/v1.json'));
      await first.page.route('**/widget/v1.json', (route) => route.abort(), { times: 1 });
      await failed;
      await first.untilAsked(1);
      assert.equal(await first.wasHidden(), false, await first.told('all'));
    },
  ],
  [
    'the widget fits light, dark and a phone',
    async ({ demo, memory: { site }, shot }) => {
      for (const [name, { contrast = false, ...options }] of Object.entries(VIEWS)) {
        const context = await demo.page.context().browser().newContext(options);
        const widget = await WidgetPage.open(site, context);
        const { page, faults } = widget;
        await widget.until('list', /in the hall/);
        await assertAccessible(page, `widget ${name}`, { contrast });
        await assertReadable(page, name);
        await shot(`widget-${name}`, page);
        assert.deepEqual(faults, []);
        await context.close();
      }
    },
  ],
  [
    'after a kill and a restart the gateway is asked again',
    async ({ gateway, memory: { first } }) => {
      await gateway.kill();
      await first.page.locator('#all > span').waitFor({ state: 'hidden' });
      gateway.settings.HEARTLINE__LIVE__TIMEOUT = RUNS_OUT;
      await gateway.start();
      await first.until('all', /^[1-9]\d* watching$/);
    },
  ],
  [
    'the number of the widget runs out when all viewers stop',
    async ({ demo, memory: { first, site, context } }) => {
      await demo.crowd.resize(0);
      if ((await demo.phone.value('play', 'data-playing')) === 'true') await demo.phone.pause();
      await first.until('all', /^0 watching$/);
      await demo.phone.part('watching').waitFor({ state: 'hidden' });
      await context.close();
      site.close();
    },
  ],
];
