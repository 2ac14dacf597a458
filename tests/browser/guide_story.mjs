// The guide: a step is ticked off when its effect was seen, and not before. Each step takes what the one before it left.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';

const USER = '1001';
// Long enough to be offered on the other device.
const WATCHED_MS = 3_000;
// What the page asks every second or two.
const POLLED = /^\/(demo\/(watching|counters|receivers)|v1\/views\/1\/\d+\/days)$/;

async function ackedBy(...devices) {
  const counts = await Promise.all(devices.map((device) => device.number('acked', 'data-count')));
  return counts.reduce((sum, count) => sum + count, 0);
}

export const steps = [
  [
    'at first nothing is ticked off, and the hood is closed',
    async ({ demo: { page, guide, phone, tv } }) => {
      await page.locator('[data-role=user]').selectOption(USER);
      for (const device of [phone, tv]) await device.online();
      assert.deepEqual(await guide.done(), []);
      assert.equal(await page.locator('[data-role=hood]').getAttribute('open'), null);
      assert.equal(await phone.tape.isVisible(), false);
      assert.equal(await page.locator('[data-role=crowd]').isVisible(), false);
    },
  ],
  [
    'cutting a connection before anything was saved proves nothing',
    async ({ demo: { guide, tv } }) => {
      await tv.click('cut');
      await guide.step('cut').locator('[data-role=seen]').waitFor();
      assert.match(await guide.seen('cut'), /no position was saved/);
      assert.deepEqual(await guide.done(), []);
    },
  ],
  [
    'play is ticked off by the first ack, and names the process to kill',
    async ({ demo: { guide, phone }, gateway }) => {
      await phone.click('play');
      await guide.untilDone('play');
      assert.ok((await phone.number('acked', 'data-count')) >= 1);
      assert.deepEqual(await guide.done(), ['play']);
      assert.equal(await guide.part('pid').textContent(), String(gateway.child.pid));
    },
  ],
  [
    'pause is ticked off when the TV offers that position',
    async ({ demo: { guide, phone, tv } }) => {
      await phone.untilPlayed(WATCHED_MS);
      assert.deepEqual(await guide.done(), ['play']);
      await phone.pause();
      await guide.untilDone('pause');
      await tv.untilShown('resume');
      assert.equal(await tv.value('resume', 'data-from'), 'phone');
      assert.deepEqual(await guide.done(), ['play', 'pause']);
    },
  ],
  [
    'another video on the TV continues nothing, nor does the phone; what is offered to the TV does',
    async ({ demo: { page, guide, phone, tv } }) => {
      await tv.part('content').selectOption('101');
      await tv.click('play');
      await tv.untilAtLeast('acked', 'data-oid', 101);
      await tv.untilPlayed(WATCHED_MS);
      await tv.pause();
      await tv.outboxEmpty();
      assert.deepEqual(await guide.done(), ['play', 'pause']);
      await phone.part('content').selectOption('101');
      await phone.untilShown('resume');
      await phone.click('resume');
      await phone.untilAtLeast('acked', 'data-oid', 101);
      await phone.pause();
      await phone.outboxEmpty();
      assert.deepEqual(await guide.done(), ['play', 'pause']);
      await tv.part('content').selectOption('100');
      await tv.untilShown('resume');
      // By the keyboard, which goes on where the button was.
      await tv.part('resume').focus();
      await page.keyboard.press('Enter');
      await guide.untilDone('continue');
      assert.ok(await tv.part('play').evaluate((button) => button === document.activeElement));
      assert.equal(await tv.value('acked', 'data-oid'), '100');
      assert.deepEqual(await guide.done(), ['play', 'pause', 'continue']);
    },
  ],
  [
    'cut while it plays, the TV stays away until a beat waits; then it is back, and its positions were read',
    async ({ demo: { page, guide, tv } }) => {
      await page.evaluate(recordNames, tv.selector('state'));
      await tv.click('cut');
      await guide.untilDone('cut');
      assert.equal(await tv.value('state', 'data-state'), 'online');
      const names = await page.evaluate(() => window.names);
      assert.ok(names.includes('cut off') && names.at(-1) === 'online', names);
      assert.match(await guide.seen('cut'), /^Resent (1 beat|[1-9]\d* beats), lost 0\.$/);
      assert.deepEqual(await guide.done(), ['play', 'pause', 'continue', 'cut']);
      assert.equal(await guide.part('recovered').isVisible(), false);
    },
  ],
  [
    'who does not want to wait connects at once',
    async ({ demo: { tv } }) => {
      const pressed = tv.pressRetry();
      await tv.click('cut');
      assert.ok((await pressed).shown);
      await tv.online();
    },
  ],
  [
    'a clean stop is a recovery, but no kill',
    async ({ demo: { guide }, gateway }) => {
      assert.equal(await gateway.stop(), 0);
      await gateway.start();
      const found = await guide.recovery();
      assert.equal(found.lost, 0);
      assert.equal(await guide.part('pid').textContent(), String(gateway.child.pid));
      assert.match(await guide.seen('kill'), /clean stop/);
      assert.deepEqual(await guide.done(), ['play', 'pause', 'continue', 'cut']);
    },
  ],
  [
    'both commands can be copied, and the first one kills',
    async ({ demo: { page, guide }, gateway, memory, shot }) => {
      await page.evaluate(recordStates);
      memory.failed = [];
      page.on('requestfailed', (request) => memory.failed.push(new URL(request.url()).pathname));
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
      const copied = [];
      for (const name of ['start', 'kill']) {
        await guide.root.locator(`[data-command=${name}] [data-role=copy]`).click();
        await guide.root.locator(`[data-command=${name}][data-copied=true]`).waitFor();
        copied.push(await page.evaluate(() => navigator.clipboard.readText()));
      }
      assert.deepEqual(copied, [`${gateway.binary} serve`, `kill -9 ${gateway.child.pid}`]);
      assert.equal(await guide.part('copied').textContent(), `Copied: ${copied[1]}`);
      await shot('copied');
      execFileSync('sh', ['-c', copied[1]]);
      await gateway.ended;
    },
  ],
  [
    'both devices count the seconds to their next attempt down, as the client makes it',
    async ({ demo: { page, guide, phone, tv }, shot }) => {
      for (const device of [phone, tv]) await device.untilAtLeast('state', 'data-seconds', 3);
      assert.match(await tv.part('state').textContent(), /retry in \d+ s|connecting/);
      assert.equal(await guide.part('recovered').isVisible(), false);
      await shot('counting');
      await page.waitForFunction(() => window.waits.some(({ shown, ended }) => ended && shown[0].seconds >= 3));
      const waits = (await page.evaluate(() => window.waits)).filter(({ ended }) => ended);
      for (const { shown, ended } of waits) {
        const first = shown[0].seconds;
        const seconds = shown.map((each) => each.seconds);
        // Seconds for which the page did nothing at all, a busy machine's: it is late by no more.
        const late = (await page.evaluate(() => window.stillMsMax)) / 1000;
        if (late < 0.5) assert.deepEqual(seconds, Array.from(seconds, (_, index) => first - index), 'one by one');
        assert.deepEqual(seconds, [...new Set(seconds)].sort((one, other) => other - one), 'down');
        for (const { at, seconds } of shown) {
          const left = (ended - at) / 1000;
          const inTime = left > seconds - 1.1 - late && left < seconds + 0.5 + late;
          assert.ok(inTime, `${seconds} s shown ${left} s before the attempt; late by up to ${late} s`);
        }
      }
      assert.deepEqual(await guide.done(), ['play', 'pause', 'continue', 'cut']);
    },
  ],
  [
    'while the gateway is away, each of the page’s polls has asked once more, and no more',
    async ({ memory: { failed } }) => {
      const polls = failed.filter((path) => POLLED.test(path));
      const often = [...new Set(polls)].filter((path) => polls.filter((other) => other === path).length > 2);
      // One may have been on its way when the gateway ended.
      assert.deepEqual(often, []);
      assert.ok(polls.length > 0);
    },
  ],
  [
    'while the gateway is away, every request settles within its timeout',
    async ({ demo: { page } }) => {
      const { codes, messages, took, refused } = await page.evaluate(askWithoutGateway);
      assert.deepEqual(codes, ['timeout', 'timeout']);
      assert.match(messages[0], /^get: no answer within 700 ms; the connection is (waiting|connecting)$/);
      assert.match(messages[1], /^list: no answer within 300 ms; the connection is (waiting|connecting)$/);
      assert.ok(took[0] >= 690 && took[1] >= 290, `${took} ms`);
      assert.deepEqual(refused, ['TypeError', 'TypeError', 'TypeError']);
    },
  ],
  [
    'started again: kill is ticked off, and nothing was lost',
    async ({ demo: { guide, phone, tv }, gateway, shot }) => {
      const checked = await ackedBy(phone, tv);
      await gateway.start();
      await guide.untilDone('kill');
      const { text, ...found } = await guide.recovery();
      // In beats, as both devices count them.
      assert.deepEqual({ ...found, resent: found.resent > 0 }, { checked, readBack: checked, lost: 0, resent: true });
      assert.ok((await ackedBy(phone, tv)) >= checked + found.resent);
      assert.equal(text, 'Recovered: 0 lost');
      for (const device of [phone, tv]) assert.equal(await device.value('state', 'data-state'), 'online');
      assert.deepEqual(await guide.done(), ['play', 'pause', 'continue', 'cut', 'kill']);
      await shot('recovered');
    },
  ],
  [
    'a reload keeps the ticks, but claims no recovery',
    async ({ demo: { page, guide } }) => {
      await page.reload();
      assert.equal((await guide.done()).length, 5);
      assert.equal(await guide.part('recovered').isVisible(), false);
    },
  ],
];

// Runs in the page: from now on what a device calls its state.
function recordNames(selector) {
  const shown = document.querySelector(selector);
  window.names = [];
  new MutationObserver(() => {
    if (shown.textContent !== window.names.at(-1)) window.names.push(shown.textContent);
  }).observe(shown, { childList: true });
}

// Runs in the page: from now on all waits of all devices: what was shown when, and when the attempt came.
function recordStates() {
  window.waits = [];
  window.stillMsMax = 0;
  let lively = performance.now();
  setInterval(() => {
    window.stillMsMax = Math.max(window.stillMsMax, performance.now() - lively);
    lively = performance.now();
  }, 20);
  for (const shown of document.querySelectorAll('.device [data-role=state]')) {
    let wait = null;
    new MutationObserver(() => {
      const { state, seconds } = shown.dataset;
      const at = performance.now();
      if (state !== 'waiting') {
        if (wait) wait.ended = at;
        wait = null;
      } else if (seconds !== undefined && Number(seconds) !== wait?.shown.at(-1).seconds) {
        if (!wait) window.waits.push((wait = { shown: [] }));
        wait.shown.push({ seconds: Number(seconds), at });
      }
    }).observe(shown, { attributes: true });
  }
}

// Runs in the page, while there is no gateway.
async function askWithoutGateway() {
  const { Heartline } = await import('/demo/client/heartline.js');
  const client = new Heartline({ user: '78', getToken: async () => 'token', storage: null });
  client.connect();
  const failed = async (ask) => {
    const began = performance.now();
    const error = await ask().then(() => ({}), (error) => error);
    return { error, took: performance.now() - began };
  };
  const got = await failed(() => client.get([{ kind: 1, oid: '1' }], { timeout: 700 }));
  const listed = await failed(() => client.list({ timeout: 300 }));
  const refused = [];
  for (const timeout of [0, NaN, 2 ** 31]) refused.push((await failed(() => client.get([], { timeout }))).error.name);
  client.close();
  const both = [got, listed];
  const [codes, messages] = ['code', 'message'].map((name) => both.map(({ error }) => error[name]));
  return { codes, messages, took: both.map(({ took }) => took), refused };
}
