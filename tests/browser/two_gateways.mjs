// node tests/browser/two_gateways.mjs: two browsers of one user on two gateways, behind HAProxy and on one Redis.
// HEARTLINE_BIN, CHROMIUM and NODE_TOOLS come from tests/parts/gateways.sh; pictures go to target/screenshots.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { launch } from './browser.mjs';
import { DemoPage, PATIENCE_MS } from './demo_page.mjs';
import { Gateway } from './gateway.mjs';
import { Balancer, Redis } from './tiers.mjs';

const SHOTS = 'target/screenshots';
const USER = '42';
const KEY = 'a-key-of-the-tests-that-is-long-enough-for-hs256';
// Between a position and the beat that tells it.
const POSITION_SLACK_MS = 1_500;
const scratch = mkdtempSync(join(tmpdir(), 'heartline-two-'));
const redis = new Redis(scratch);
const balancer = new Balancer(scratch);
const gateways = [];
const browsers = [];

async function begin() {
  await redis.start();
  const settings = {
    HEARTLINE__AUTH__HS256_SECRET: KEY,
    HEARTLINE__DEMO__ISSUE_TOKENS_FOR_ANY_USER_WITH_THE_REAL_KEY: 'true',
    HEARTLINE__STORE__HOT_STORE: 'redis',
    HEARTLINE__REDIS__URL: redis.url,
    HEARTLINE__SERVER__PROXY_PROTOCOL: 'true',
    HEARTLINE__SERVER__TRUSTED_PROXIES: '["127.0.0.1/32"]',
  };
  await promisify(execFile)(process.env.HEARTLINE_BIN, ['init'], { env: { ...process.env, ...settings } });
  for (const name of ['one', 'two']) {
    const folder = join(scratch, name);
    mkdirSync(folder);
    const gateway = new Gateway(process.env.HEARTLINE_BIN, folder, settings);
    gateways.push(gateway);
    await gateway.start();
  }
  await balancer.start(gateways);
}

async function openBrowser() {
  const browser = await launch();
  browsers.push(browser);
  const page = await browser.newPage({ viewport: { width: 1360, height: 900 } });
  page.setDefaultTimeout(PATIENCE_MS);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  await page.goto(balancer.url);
  const demo = new DemoPage(page);
  for (const device of demo.devices()) await device.online();
  await demo.openHood();
  return demo;
}

// Sockets on each gateway.
async function sockets() {
  return Promise.all(gateways.map(async (gateway) => (await gateway.metrics()).heartline_connections));
}

// Until there are as many on each as `wanted` says of it; of one that is not in there, nothing is asked.
async function untilSockets(wanted) {
  const giveUp = Date.now() + PATIENCE_MS;
  for (const [at, count] of Object.entries(wanted)) {
    for (;;) {
      const found = (await gateways[at].metrics()).heartline_connections;
      if (found === count) break;
      if (Date.now() > giveUp) assert.fail(`${found} sockets on gateway ${Number(at) + 1}, not ${count}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

// What is stored of the user, asked over HTTP.
async function storedPosition(oid) {
  const signed = await promisify(execFile)(process.env.HEARTLINE_BIN, ['token', '--mid', USER], {
    env: { ...process.env, HEARTLINE__AUTH__HS256_SECRET: KEY },
  });
  const answer = await fetch(`${balancer.url}/v1/history/1/${oid}`, {
    headers: { Authorization: `Bearer ${signed.stdout.trim()}` },
  });
  assert.equal(answer.status, 200);
  return (await answer.json()).pos;
}

function near(actual, wanted, what) {
  assert.ok(Math.abs(actual - wanted) <= POSITION_SLACK_MS, `${what}: ${actual} instead of about ${wanted}`);
}

const stage = {};

const steps = [
  [
    'all sockets of a user are on one gateway',
    async () => {
      stage.one = await openBrowser();
      const found = await sockets();
      stage.home = found.indexOf(2);
      assert.deepEqual([...found].sort(), [0, 2], `sockets: ${found}`);
      stage.other = 1 - stage.home;
    },
  ],
  [
    'it is stopped, and they go to the other; it is back, and they stay',
    async () => {
      assert.equal(await gateways[stage.home].stop(), 0);
      // A page may not have noticed yet that it is to go.
      await untilSockets({ [stage.other]: 2 });
      for (const device of stage.one.devices()) await device.online();
      await gateways[stage.home].start();
      await balancer.until(0, 1);
      await untilSockets({ [stage.home]: 0, [stage.other]: 2 });
    },
  ],
  [
    'a second browser of the user is on the other gateway',
    async () => {
      stage.two = await openBrowser();
      await untilSockets({ [stage.home]: 2, [stage.other]: 2 });
    },
  ],
  [
    'the position follows from one to the other',
    async () => {
      const { phone } = stage.one;
      await phone.click('play');
      await phone.untilPlayed(2_500);
      const paused = await phone.pause();
      await phone.outboxEmpty();
      const { tv } = stage.two;
      await tv.untilAtLeast('resume', 'data-pos', paused - 500);
      near(await tv.number('resume', 'data-pos'), paused, 'offered in the other browser');
      assert.equal(await tv.value('resume', 'data-from'), 'phone');
      await stage.two.page.screenshot({ path: `${SHOTS}/gateways-offered.png`, fullPage: true });
    },
  ],
  [
    'and back again',
    async () => {
      const { tv } = stage.two;
      const offered = await tv.number('resume', 'data-pos');
      await tv.click('resume');
      await tv.untilPlayed(offered + 1_500);
      near(await tv.playedFrom(), offered, 'resumed in the other browser');
      const paused = await tv.pause();
      await tv.outboxEmpty();
      await stage.one.phone.untilAtLeast('resume', 'data-pos', paused - 500);
      near(await stage.one.phone.number('resume', 'data-pos'), paused, 'offered in the first browser');
      await stage.one.phone.click('resume');
      await stage.one.phone.untilPlayed(paused + 500);
    },
  ],
  [
    'its gateway is drained while it plays: it moves, and what was acked is there',
    async () => {
      const { phone } = stage.one;
      const welcomes = await phone.tapeRows('welcome').count();
      const leaving = gateways[stage.other];
      const stopped = leaving.stop();
      assert.equal(await stopped, 0, 'the exit code of the drained gateway');
      const acked = await phone.number('acked', 'data-pos');
      await phone.tapeRows('welcome').nth(welcomes).waitFor();
      await untilSockets({ [stage.home]: 4 });
      for (const device of stage.one.devices()) await device.online();
      const oid = await phone.part('content').inputValue();
      assert.ok((await storedPosition(oid)) >= acked, 'what was acked before the drain is lost');
      const left = await phone.pause();
      await phone.outboxEmpty();
      near(await phone.number('acked', 'data-pos'), left, 'acked by the gateway that stayed');
      assert.equal(await storedPosition(oid), await phone.number('acked', 'data-pos'));
      await stage.one.page.screenshot({ path: `${SHOTS}/gateways-moved.png`, fullPage: true });
    },
  ],
  [
    'the second browser has not noticed, and hears of it',
    async () => {
      const { tv } = stage.two;
      assert.equal(await tv.tapeRows('welcome').count(), 1);
      const moved = await stage.one.phone.number('acked', 'data-pos');
      await tv.untilAtLeast('resume', 'data-pos', moved - POSITION_SLACK_MS);
    },
  ],
];

try {
  mkdirSync(SHOTS, { recursive: true });
  await begin();
  for (const [name, step] of steps) {
    const began = performance.now();
    try {
      await step();
    } catch (error) {
      for (const [at, browser] of browsers.entries()) {
        await browser.contexts()[0]?.pages()[0]?.screenshot({ path: `${SHOTS}/gateways-failed-${at}.png`, fullPage: true }).catch(() => {});
      }
      console.log(`not ok  ${name}`);
      throw error;
    }
    console.log(`ok  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  }
  for (const { page } of [stage.one, stage.two]) assert.deepEqual(page.faults, []);
} catch (error) {
  console.error(error.stack);
  process.exitCode = 1;
} finally {
  for (const browser of browsers) await browser.close();
  for (const gateway of gateways) await gateway.kill();
  await balancer.stop();
  await redis.stop();
  rmSync(scratch, { recursive: true });
}
