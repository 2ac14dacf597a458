// node tests/browser/run.mjs: the demo page in a real browser, against the real binary, killed and restarted.
// HEARTLINE_BIN, CHROMIUM and NODE_TOOLS come from tests/parts/browser.sh; pictures go to target/screenshots.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { launch } from './browser.mjs';
import { steps as crowdSteps } from './crowd_story.mjs';
import { DemoPage } from './demo_page.mjs';
import { Gateway } from './gateway.mjs';
import { steps as guideSteps } from './guide_story.mjs';
import { looks } from './looks.mjs';
import { steps as rewardSteps } from './reward_story.mjs';
import { steps } from './story.mjs';

const SHOTS = 'target/screenshots';

const scratch = mkdtempSync(join(tmpdir(), 'heartline-browser-'));
const gateway = new Gateway(process.env.HEARTLINE_BIN, scratch);
let browser;

async function main() {
  await gateway.start();
  browser = await launch();
  await tell(steps, { width: 1360, height: 900 });
  await tell(guideSteps, { width: 1280, height: 800 });
  await tell(rewardSteps, { width: 1360, height: 900 });
  await tell(crowdSteps, { width: 1280, height: 800 });
  await looks(browser, gateway.url, SHOTS);
}

// A story on a page of its own.
async function tell(steps, viewport) {
  const page = await browser.newPage({ viewport });
  const faults = watch(page);
  const shot = (name) => page.screenshot({ path: `${SHOTS}/${name}.png`, fullPage: true });
  await page.goto(gateway.url);
  const stage = { demo: new DemoPage(page), gateway, shot, memory: {} };
  for (const [name, step] of steps) {
    const began = performance.now();
    try {
      await step(stage);
    } catch (error) {
      await shot('failed').catch(() => {});
      console.log(`not ok  ${name}`);
      throw error;
    }
    console.log(`ok  ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  }
  assert.deepEqual(faults, []);
  await page.close();
}

// Errors of the page's own scripts, and requests to anybody but the gateway.
function watch(page) {
  const faults = [];
  // A story may have the gateway listen elsewhere for a while; the page knows nothing of that.
  const home = gateway.url;
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
  console.error(error.stack);
  process.exitCode = 1;
} finally {
  await browser?.close();
  await gateway.kill();
  rmSync(scratch, { recursive: true });
}
