// The live page beside the demo: it follows the viewers there. Each step continues with the state of the one before.
import assert from 'node:assert/strict';
import { assertAccessible, assertTouchTargets } from './accessibility.mjs';
import { LivePage, PARTS } from './live_page.mjs';
import { assertReadable } from './sight.mjs';

const BOTS = 12;
const PHONE = 1;
// After the restart viewers run out: a session is live for so long after its last beat.
const RUNS_OUT = '3s';
const LONG = Boolean(process.env.LONG);
// Of the parts that stand alone: a number, and a list. All of them are judged on the whole page.
const JUDGED = ['now', 'top'];
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
const VIEWS = {
  wide: { viewport: WIDE, contrast: true },
  'wide-dark': { viewport: WIDE, colorScheme: 'dark', contrast: true },
  narrow: { viewport: NARROW },
  'narrow-dark': { viewport: NARROW, colorScheme: 'dark' },
};

// What a gateway says that knows all there is to know, and of which the crowd of a test is not enough.
const KNOWN = {
  at: 1_700_000_000_000,
  users: 1_204,
  sessions: 1_310,
  kinds: [{ kind: 1, sessions: 1_200 }, { kind: 65_535, sessions: 110 }],
  top: {
    top: [{ kind: 1, oid: '101', sessions: 900 }, { kind: 65_535, oid: '18446744073709551615', sessions: 110 }],
    error: 3,
  },
  rising: { top: [], error: 0 },
  shares: {
    countries: { DE: 812, FR: 200, XX: 1 },
    os: { Android: 700, iOS: 400, Windows: 90, macOS: 50, Linux: 40, Tizen: 30, webOS: 20, Fuchsia: 2, Haiku: 1 },
    browsers: {},
    devices: { tv: 400, phone: 910 },
  },
  series: { seconds: Array(60).fill(1_310), minutes: Array(60).fill(1_300) },
  tail: [{ at: 1_700_000_000_000, kind: 1, oid: '100', device: 'tv', country: 'DE', os: 'Android', browser: 'Chrome' }],
};

function browserOf({ page }) {
  return page.context().browser();
}

async function assertLooks(live, name, contrast = false) {
  await assertAccessible(live.page, name, { contrast });
  await assertReadable(live.page, name);
}

export const steps = [
  [
    'the demo links to the live page, which shows no viewers',
    async ({ demo, memory }) => {
      const href = await demo.page.locator('nav a', { hasText: 'Live' }).getAttribute('href');
      memory.url = new URL(href, demo.page.url()).href;
      memory.context = await browserOf(demo).newContext({ viewport: WIDE });
      memory.live = await LivePage.open(memory.context, memory.url);
      await memory.live.untilState('live');
      await memory.live.untilUsers(0);
      const { sessions, top, rising, tail } = await memory.live.shown();
      assert.deepEqual({ sessions, top, rising, tail }, { sessions: 0, top: [], rising: [], tail: [] });
      assert.deepEqual(await memory.live.partsInSight(), PARTS.filter((part) => part !== 'shares'));
    },
  ],
  [
    'the live page follows a crowd and shows the watched contents',
    async ({ demo, memory: { live } }) => {
      await demo.openHood();
      await demo.phone.online();
      await demo.phone.setLoop(true);
      await demo.phone.click('play');
      await demo.crowd.resize(BOTS);
      const { sessions, kinds, minute, top, rising, tail, shares } = await live.untilUsers(BOTS + PHONE);
      assert.equal(sessions, BOTS + PHONE);
      const all = [['desktop', 'devices'], ['Linux', 'os'], ['HeadlessChrome', 'browsers']];
      assert.deepEqual(shares, all.map(([name, list]) => ({ list, name, sessions })), 'all of them are this browser');
      assert.match(tail[0].text, /desktop · Linux · HeadlessChrome/);
      assert.deepEqual(kinds.map(({ kind, sessions }) => [kind, sessions]), [[1, sessions]]);
      assert.equal(Number(minute.newest), sessions);
      assert.equal(top.reduce((sum, { sessions }) => sum + sessions, 0), sessions);
      assert.deepEqual(top, top.toSorted((one, other) => other.sessions - one.sessions), 'the first one first');
      assert.match(top.find(({ oid }) => oid === '100').text, /^Dawn\s+1\/100\s+1$/);
      assert.match(top.find(({ oid }) => oid !== '100').text, /^Video (1\d{3})\s+1\/\1\s+\d+$/);
      assert.deepEqual(new Set(rising.map(({ oid }) => oid)), new Set(top.map(({ oid }) => oid)));
      assert.ok(tail.length >= sessions, 'a visit each');
      assert.deepEqual(new Set(tail.map(({ oid }) => oid)), new Set(top.map(({ oid }) => oid)));
    },
  ],
  [
    'only events of the gateway change the live page',
    async ({ memory: { live } }) => {
      const { at } = await live.shown();
      await live.untilAfter(at);
      assert.deepEqual(await live.motions(), []);
    },
  ],
  [
    'the live page fits light, dark and a phone',
    async ({ demo, memory, shot }) => {
      for (const [name, { contrast, ...options }] of Object.entries(VIEWS)) {
        const context = await browserOf(demo).newContext(options);
        const live = await LivePage.open(context, memory.url);
        await live.untilUsers(1, BOTS + PHONE);
        await assertLooks(live, name, contrast);
        await assertTouchTargets(live.page, name);
        await shot(`live-${name}`, live.page);
        await context.close();
      }
    },
  ],
  [
    'each part works by itself, and all share one stream',
    async ({ gateway, memory, shot }) => {
      const open = async (name) => {
        const live = await LivePage.open(memory.context, `${memory.url}?part=${name}`);
        await live.untilUsers(1, BOTS + PHONE);
        return live;
      };
      const alone = await Promise.all(PARTS.map(open));
      for (const [index, live] of alone.entries()) {
        assert.deepEqual(await live.partsInSight(), [PARTS[index]]);
        assert.equal(await live.page.locator('nav, footer').filter({ visible: true }).count(), 0);
        await assertReadable(live.page, PARTS[index]);
        if (LONG || JUDGED.includes(PARTS[index])) await assertAccessible(live.page, PARTS[index], { contrast: false });
      }
      await shot('live-part-top', alone[PARTS.indexOf('top')].page);
      const [first, ...others] = alone;
      await first.page.goto(`${memory.url}?part=tail,now,nothing`);
      assert.deepEqual(await first.partsInSight(), ['now', 'tail']);
      await first.page.goto(`${memory.url}?part=nothing`);
      assert.match(await first.part('unknown').innerText(), /no such part\. The parts are now, minute/);
      const streams = (await gateway.metrics()).heartline_live_streams;
      assert.equal(streams, 1);
      for (const { page } of [first, ...others]) await page.close();
    },
  ],
  [
    'devices and countries are shown, and a refused page asks again after the given time',
    async ({ demo, memory, shot }) => {
      const context = await browserOf(demo).newContext({ viewport: WIDE });
      let refused = true;
      // A page without shared workers has a stream of its own.
      await context.addInitScript(() => delete window.SharedWorker);
      await context.route('**/demo/live/stream', (route) => {
        if (refused) return route.fulfill({ status: 503 });
        const body = `event: live\ndata: ${JSON.stringify(KNOWN)}\n\n`;
        return route.fulfill({ contentType: 'text/event-stream', body });
      });
      const live = await LivePage.open(context, memory.url);
      await live.untilState('refused');
      await assertLooks(live, 'refused', true);
      refused = false;
      await live.part('again').click();
      await live.untilUsers(KNOWN.users);
      assert.deepEqual(await live.partsInSight(), PARTS);
      const share = (name) => live.page.locator(`[data-share=${name}]`).innerText();
      assert.match(await share('devices'), /^Devices\s+phone\s+910\s+69%\s+TV\s+400\s+31%$/);
      assert.match(await share('countries'), /^Countries\s+Germany\s+812\s+80%\s+France/);
      assert.match(await share('os'), /webOS\s+20\s+2%\s+others\s+3\s+0%$/);
      assert.equal(await live.page.locator('[data-share=browsers]').isVisible(), false);
      assert.match((await live.shown()).tail[0].text, /Dawn[^]*TV · Android · Chrome · Germany/);
      assert.equal(await live.part('top-error').innerText(), 'A content left out by mistake has at most 3 sessions.');
      assert.equal(await live.part('rising-error').isVisible(), false);
      await assertLooks(live, 'all that is known', true);
      await shot('live-known', live.page);
      await context.close();
    },
  ],
  [
    'after a kill and a restart the gateway is followed again',
    async ({ gateway, memory: { live } }) => {
      await gateway.kill();
      await live.untilState('away');
      const { at, users } = await live.shown();
      assert.ok(users > 0, 'the last numbers stay');
      gateway.settings.HEARTLINE__LIVE__TIMEOUT = RUNS_OUT;
      await gateway.start();
      await live.untilState('live');
      await live.untilAfter(at);
      await live.untilUsers(1, BOTS + PHONE);
    },
  ],
  [
    'the live numbers run out when all viewers stop',
    async ({ demo, memory: { live, context } }) => {
      await demo.crowd.resize(0);
      if ((await demo.phone.value('play', 'data-playing')) === 'true') await demo.phone.pause();
      const { sessions, top, tail, minute } = await live.untilUsers(0);
      assert.deepEqual({ sessions, top }, { sessions: 0, top: [] });
      assert.ok(tail.length > 0 && Number(minute.most) > 0, 'what was is still there');
      assert.deepEqual(await live.motions(), []);
      await context.close();
    },
  ],
];
