// The documentation as pages: each on a narrow screen, one on every screen.
import assert from 'node:assert/strict';
import { assertAccessible, assertTouchTargets } from './accessibility.mjs';
import { PATIENCE_MS } from './demo_page.mjs';
import { assertReadable } from './sight.mjs';
import { tellStep } from './step.mjs';

const NARROW = { width: 390, height: 844 };
const WIDE = { width: 1280, height: 800 };
const VIEWS = {
  wide: { viewport: WIDE, contrast: true },
  'wide-dark': { viewport: WIDE, colorScheme: 'dark', contrast: true },
  narrow: { viewport: NARROW },
  'narrow-dark': { viewport: NARROW, colorScheme: 'dark' },
};
// It has tables, code, lists and links to headings of others.
const SHOWN = 'operations.md';
const LONG = Boolean(process.env.LONG);

export async function documents(browser, url, shots) {
  for (const [name, view] of Object.entries(VIEWS)) {
    await tellStep(`docs: the list and ${SHOWN}, ${name}`, () => look(browser, url, shots, name, view));
  }
  const page = await opened(browser, { viewport: NARROW });
  await tellStep('docs: every document on a narrow screen', () => assertEach(page, url));
  await tellStep('docs: links', () => assertLinks(page, url));
  await page.close();
}

async function look(browser, url, shots, name, { contrast = LONG, ...options }) {
  const page = await opened(browser, options);
  await page.goto(`${url}/demo/docs/`);
  await assertSound(page, `the list, ${name}`, contrast);
  await assertTouchTargets(page, `the list, ${name}`);
  await page.screenshot({ path: `${shots}/docs-list-${name}.png` });
  await page.click(`a[href$="/${SHOWN}"]`);
  await assertSound(page, `${SHOWN}, ${name}`, contrast);
  await page.screenshot({ path: `${shots}/docs-${name}.png` });
  await page.close();
}

async function opened(browser, options) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(PATIENCE_MS);
  // What the policy of the page forbids is an error there.
  page.faults = [];
  page.on('console', (message) => message.type() === 'error' && page.faults.push(message.text()));
  return page;
}

async function assertSound(page, what, contrast) {
  assert.deepEqual(page.faults, [], what);
  await assertAccessible(page, what, { contrast });
  await assertReadable(page, what);
}

async function assertEach(page, url) {
  await page.goto(`${url}/demo/docs/`);
  const paths = await page.locator('.docs-list a').evaluateAll((links) => links.map((link) => link.href));
  assert.ok(paths.length > 15, `${paths.length} documents`);
  let wide = 0;
  for (const path of paths) {
    await page.goto(path);
    await assertSound(page, path, LONG);
    wide += await page.evaluate(scrollable);
  }
  assert.ok(wide > 20, `${wide} tables and blocks of code scroll`);
}

// From one document to a heading of another, to the list, and to the demo.
async function assertLinks(page, url) {
  await page.goto(`${url}/demo/docs/README.md`);
  await page.click('main a[href="/demo/docs/operations.md#backup-and-restore"]');
  await page.waitForURL('**/demo/docs/operations.md#backup-and-restore');
  const top = await page.locator('#backup-and-restore').evaluate((heading) => heading.getBoundingClientRect().top);
  assert.ok(top >= 0 && top < NARROW.height, `the heading is at ${top} px`);
  await page.click('nav a[href="/demo/docs/"]');
  await page.waitForURL('**/demo/docs/');
  await page.click('nav a[href="/"]');
  await page.locator('[data-device=phone]').waitFor();
}

// Runs in the page: how many parts are wider than the screen, and scroll.
function scrollable() {
  const parts = [...document.querySelectorAll('main :is(pre, .wide)')];
  return parts.filter((part) => part.scrollWidth > part.clientWidth && getComputedStyle(part).overflowX === 'auto').length;
}
