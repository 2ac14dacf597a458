// The widget on a page of another origin: it follows the viewers of the demo. Each step continues with the state of the
// one before.
import assert from 'node:assert/strict';
import { gzipSync } from 'node:zlib';
import { assertAccessible } from './accessibility.mjs';
import { PATIENCE_MS } from './demo_page.mjs';
import { ForeignSite } from './foreign_site.mjs';
import { assertReadable } from './sight.mjs';

const BOTS = 12;
const PHONE = 1;
const BYTES_MAX = 3_000;
const PERIOD_MS = 2_000;
const VIEWS = {
  wide: { viewport: { width: 1280, height: 800 } },
  'wide-dark': { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  narrow: { viewport: { width: 390, height: 844 } },
  'narrow-dark': { viewport: { width: 390, height: 844 }, colorScheme: 'dark' },
};

// A page of the site, with the moments at which it asked for numbers.
async function open(site, context) {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const asked = [];
  const faults = [];
  page.on('request', (request) => request.url().endsWith('/widget/v1.json') && asked.push(performance.now()));
  page.on('pageerror', (error) => faults.push(error.stack));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  await page.goto(site.url);
  return { page, asked, faults };
}

// Waits until the widget of this paragraph is shown, and its text is as wanted.
async function until(page, id, wanted) {
  const shows = ([id, source]) => {
    const host = document.querySelector(`#${id} > span`);
    return host?.checkVisibility() && new RegExp(source).test(host.shadowRoot.textContent);
  };
  await page.waitForFunction(shows, [id, wanted.source], { polling: 50 }).catch(async () => {
    throw new Error(`never came: ${id} ${wanted}; ${await page.locator(`#${id}`).innerText()}`);
  });
}

async function untilAsked(asked, more) {
  const [enough, deadline] = [asked.length + more, performance.now() + PATIENCE_MS];
  while (asked.length < enough) {
    assert.ok(performance.now() < deadline, `it never asked ${more} times more`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function setHidden(page, hidden) {
  return page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event('visibilitychange'));
  }, hidden);
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
      memory.first = await open(memory.site, memory.context);
      const { page } = memory.first;
      await until(page, 'all', /^0 watching$/);
      for (const id of ['dawn', 'unknown']) assert.equal(await page.locator(`#${id} > span`).isVisible(), false, id);
      assert.equal(await demo.phone.part('watching').isVisible(), false);
    },
  ],
  [
    'the widget and the players of the demo follow a crowd',
    async ({ demo, memory: { first: { page } }, shot }) => {
      await demo.openHood();
      await demo.phone.online();
      await demo.phone.click('play');
      await demo.crowd.resize(BOTS);
      await until(page, 'all', new RegExp(`^${BOTS + PHONE} watching$`));
      await until(page, 'dawn', /^1 watching$/);
      await until(page, 'list', new RegExp(`^${BOTS + PHONE} in the hall`));
      assert.equal(await page.locator('#list li').count(), 3);
      assert.match(await page.locator('#list li').first().innerText(), /^1:\d+ \d+$/);
      for (const device of demo.devices()) {
        const shown = '[data-role=watching][data-count="1"]:not([hidden])';
        await device.root.locator(shown).waitFor();
        assert.equal((await device.part('watching').innerText()).trim(), '1 watching', device.name);
      }
      await shot('widget-players');
    },
  ],
  [
    'a user with two players is one person',
    async ({ demo: { phone, tv }, gateway }) => {
      await tv.click('play');
      // Both sessions are live for a moment only: the phone says nothing more when the TV has taken over.
      for (const until = performance.now() + 3_000; performance.now() < until;) {
        const { top } = await (await fetch(gateway.url + '/widget/v1.json')).json();
        assert.deepEqual(top.filter(({ oid }) => oid === '100').map(({ users }) => users), [1]);
        await new Promise((resolve) => setTimeout(resolve, 250));
      }
      for (const device of [phone, tv]) {
        assert.equal((await device.part('watching').innerText()).trim(), '1 watching', device.name);
      }
      await tv.pause();
    },
  ],
  [
    'all widgets of a page share one feed and ask at most every two seconds',
    async ({ memory: { first: { page, asked, faults } } }) => {
      await untilAsked(asked, 4);
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
      const other = await open(site, context);
      await until(other.page, 'all', /watching$/);
      await setHidden(first.page, true);
      await untilAsked(other.asked, 1);
      const before = first.asked.length;
      await untilAsked(other.asked, 4);
      assert.equal(first.asked.length, before, 'while another page asked four times');
      await setHidden(first.page, false);
      await untilAsked(first.asked, 2);
      await other.page.close();
    },
  ],
  [
    'the widget fits light, dark and a phone',
    async ({ demo, memory: { site }, shot }) => {
      for (const [name, options] of Object.entries(VIEWS)) {
        const context = await demo.page.context().browser().newContext(options);
        const { page, faults } = await open(site, context);
        await until(page, 'list', /in the hall/);
        await assertAccessible(page, `widget ${name}`);
        await assertReadable(page, name);
        await shot(`widget-${name}`, page);
        assert.deepEqual(faults, []);
        await context.close();
      }
    },
  ],
  [
    'after a kill and a restart the gateway is asked again',
    async ({ gateway, memory: { first: { page } } }) => {
      await gateway.kill();
      await page.locator('#all > span').waitFor({ state: 'hidden' });
      await gateway.start();
      await until(page, 'all', /^[1-9]\d* watching$/);
    },
  ],
  [
    'the number of the widget runs out when all viewers stop',
    async ({ demo, memory: { first: { page }, site, context } }) => {
      await demo.crowd.resize(0);
      if ((await demo.phone.value('play', 'data-playing')) === 'true') await demo.phone.pause();
      await until(page, 'all', /^0 watching$/);
      await demo.phone.part('watching').waitFor({ state: 'hidden' });
      await context.close();
      site.close();
    },
  ],
];
