// node tests/browser/run.mjs: the demo page in a real browser, against the real binary, killed and restarted.
// HEARTLINE_BIN, CHROMIUM and NODE_TOOLS come from tests/parts/browser.sh or screens.sh; pictures go to target/screenshots.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { steps as audienceSteps } from './audience_story.mjs';
import { launch } from './browser.mjs';
import { steps as crowdSteps } from './crowd_story.mjs';
import { DemoPage, PATIENCE_MS } from './demo_page.mjs';
import { documents } from './documents.mjs';
import { Gateway } from './gateway.mjs';
import { steps as guideSteps } from './guide_story.mjs';
import { steps as liveSteps } from './live_story.mjs';
import { looks } from './looks.mjs';
import { steps as lossSteps } from './loss_story.mjs';
import { steps as packSteps } from './pack_story.mjs';
import { steps as receiverSteps } from './receiver_story.mjs';
import { steps as rewardSteps } from './reward_story.mjs';
import { steps as screenSteps } from './screen_story.mjs';
import { seconds, tellStep } from './step.mjs';
import { steps } from './story.mjs';
import { HistoryTiers } from './tiers.mjs';
import { steps as viewSteps } from './view_story.mjs';
import { steps as widgetSteps } from './widget_story.mjs';

const SHOTS = 'target/screenshots';
// Most of a story is waiting: for playback, and for the pauses between two attempts to connect.
const AT_ONCE = 2;

const WIDE = { width: 1360, height: 900 };
const SMALLER = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
// With this beats come more often than every five seconds, and so does what they bring.
const beatsEvery = (interval) => ({ HEARTLINE__SOCKET__HEARTBEAT_INTERVAL: interval });
// The page of a busy machine may send nothing for many seconds, and its viewers still count. A story sets less where they
// shall run out.
const livesLong = { ...beatsEvery('1s'), HEARTLINE__LIVE__TIMEOUT: '60s' };

// What happens on the page, the longest first. Each has a gateway and a page of its own.
const STORIES = [
  { name: 'crowd', tell: tell(crowdSteps, SMALLER) },
  { name: 'guide', tell: tell(guideSteps, SMALLER) },
  { name: 'rewards', tell: tell(rewardSteps, WIDE), settings: beatsEvery('3s') },
  { name: 'views', tell: tell(viewSteps, WIDE), settings: beatsEvery('1s') },
  { name: 'receivers', tell: tell(receiverSteps, WIDE), settings: beatsEvery('1s') },
  { name: 'packs', tell: tell(packSteps, WIDE), settings: beatsEvery('1s'), tiers: HistoryTiers },
  { name: 'audience', tell: tell(audienceSteps, WIDE), settings: beatsEvery('1s') },
  { name: 'loss', tell: tell(lossSteps, SMALLER) },
  { name: 'live', tell: tell(liveSteps, WIDE), settings: livesLong },
  { name: 'widget', tell: tell(widgetSteps, WIDE), settings: livesLong },
  { name: 'positions', tell: tell(steps, WIDE) },
];
// What the page looks like, on all sizes of screen.
const SCREENS = [
  { name: 'looks', tell: ({ browser, gateway }) => looks(browser, gateway.url, SHOTS), settings: beatsEvery('1s') },
  { name: 'docs', tell: ({ browser, gateway }) => documents(browser, gateway.url, SHOTS) },
  { name: 'phone-screen', tell: tell(screenSteps, NARROW, 'no-preference'), settings: beatsEvery('1s') },
  { name: 'screen', tell: tell(screenSteps, SMALLER, 'no-preference'), settings: beatsEvery('1s') },
];
// node tests/browser/run.mjs NAME … tells these alone; `stories` and `screens` stand for all of one list.
const LISTS = { stories: STORIES, screens: SCREENS };
const ALL = Object.values(LISTS).flat();
const named = process.argv.slice(2).map((name) => LISTS[name] ?? ALL.filter((story) => story.name === name));
assert.ok(named.every((stories) => stories.length > 0), `a story of these is unknown: ${process.argv.slice(2)}`);
const chosen = named.length > 0 ? named.flat() : ALL;

const scratch = mkdtempSync(join(tmpdir(), 'heartline-browser-'));
const gateways = [];
const services = [];
let browser;

async function main() {
  browser = await launch();
  const left = [...chosen];
  const tellOn = async () => {
    for (let story = left.shift(); story; story = left.shift()) await begin(story).catch(complain);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, tellOn));
}

function complain(error) {
  console.error(error.stack);
  process.exitCode = 1;
}

// `tiers`: what the gateway stands on, instead of a store of its own.
async function begin({ name, tell, settings, tiers: Tiers }) {
  const folder = join(scratch, name);
  mkdirSync(folder);
  const began = performance.now();
  const tiers = Tiers && new Tiers(folder);
  if (tiers) services.push(tiers);
  await tiers?.start(process.env.HEARTLINE_BIN);
  const gateway = new Gateway(process.env.HEARTLINE_BIN, folder, { ...settings, ...tiers?.settings }, tiers?.words);
  gateways.push(gateway);
  await gateway.start();
  await tell({ browser, gateway, story: name });
  await gateway.kill();
  console.log(`ok  ${name}, all of it (${seconds(began)} s)`);
}

// A story on a page of its own, one step after the other. Painting what moves takes a third of all work: it moves where
// that is looked at.
function tell(steps, viewport, reducedMotion = 'reduce') {
  return async ({ browser, gateway, story }) => {
    const page = await browser.newPage({ viewport, reducedMotion });
    page.setDefaultTimeout(PATIENCE_MS);
    const faults = watch(page, gateway.url);
    const shot = (name, of = page) => of.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
    await page.goto(gateway.url);
    const stage = { demo: new DemoPage(page), gateway, shot, story, memory: {} };
    for (const [name, step] of steps) {
      await tellStep(`${story}: ${name}`, () => step(stage), () => shot(`failed-${story}`).catch(() => {}));
    }
    assert.deepEqual(faults, []);
    await page.close();
  };
}

// Errors of the page's own scripts, and requests to any other server than the gateway. A story may let the gateway
// listen elsewhere for a while, which the page does not know.
function watch(page, home) {
  const faults = [];
  page.on('pageerror', (error) => faults.push(`error on the page: ${error.stack}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== home) faults.push(`request to ${url}`);
  });
  return faults;
}

try {
  await main();
} catch (error) {
  complain(error);
} finally {
  await browser?.close();
  for (const gateway of gateways) await gateway.kill();
  for (const tiers of services) await tiers.stop();
  rmSync(scratch, { recursive: true });
}
