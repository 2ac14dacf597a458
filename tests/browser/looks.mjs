// How the page looks: what is in sight at once, on all sizes of screen, in both schemes and in the user's own colours;
// and by keyboard alone.
import assert from 'node:assert/strict';
import { assertAccessible, assertTouchTargets } from './accessibility.mjs';
import { DemoPage, PATIENCE_MS } from './demo_page.mjs';
import { assertApart, assertLabelsWhole, assertReadable, assertTimeInSight } from './sight.mjs';
import { tellStep } from './step.mjs';

const LONG = Boolean(process.env.LONG);
const CROWD = 20;
const WIDE = { width: 1280, height: 800 };
const NARROW = { width: 390, height: 844 };
// Of each device: what must be in sight without scrolling.
const IN_SIGHT = ['name', 'state', 'cut', 'video', 'play', 'seek', 'clock', 'sound', 'sheet'];
// Where the screen is too low for more.
const LOW = IN_SIGHT.filter((role) => role !== 'sheet');
const VIEWS = {
  wide: { viewport: WIDE, contrast: true },
  'wide-dark': { viewport: WIDE, colorScheme: 'dark' },
  forced: { viewport: WIDE, forcedColors: 'active' },
  tablet: { viewport: { width: 820, height: 1180 } },
  low: { viewport: { width: 844, height: 390 }, inSight: { phone: LOW, tv: LOW } },
  narrow: { viewport: NARROW },
  'narrow-dark': { viewport: NARROW, colorScheme: 'dark', contrast: true },
  narrowest: { viewport: { width: 320, height: 640 }, inSight: { phone: IN_SIGHT } },
  still: { viewport: { width: 1360, height: 900 }, reducedMotion: 'reduce' },
};
// Sizes between others: only with --long, since each view takes half a minute.
const IN_DEPTH = ['wide-dark', 'tablet', 'narrow'];
// What is beside each other at the top of the page.
const MASTHEAD = '.wordmark, .masthead nav a, .masthead select';

export async function looks(browser, url, shots) {
  const views = Object.entries(VIEWS).filter(([name]) => LONG || !IN_DEPTH.includes(name));
  for (const [name, view] of views) await tellStep(`looks: ${name}`, () => look(browser, url, shots, name, view));
}

async function look(browser, url, shots, name, { inSight, contrast = LONG, ...options }) {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(url);
  const demo = new DemoPage(page);
  for (const device of demo.devices()) await device.online();
  await assertInSight(demo, options.viewport, name, inSight);
  await assertApart(page, MASTHEAD, name);
  await assertStepShown(page, name);
  await playByKeyboard(page, demo.phone);
  await demo.phone.untilAtLeast('acked', 'data-count', 2);
  await assertLabelsWhole(page, name);
  await assertBarShown(page, demo.phone, name);
  await demo.tv.untilShown('resume');
  await assertTimeInSight(page, name);
  await page.screenshot({ path: `${shots}/${name}-first.png` });
  await assertAccessible(page, name, { contrast });
  await assertTouchTargets(page, name);
  await assertReadable(page, name);
  await showAll(demo, options.viewport);
  await assertReadable(page, `${name}, all of it`);
  await assertAccessible(page, `${name}, all of it`, { contrast });
  assert.ok((await assertTouchTargets(page, `${name}, all of it`)) > 20);
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
  await assertTimeInSight(page, `${name}, all of it`);
  await assertAsks(demo, name, `${shots}/${name}-question.png`, contrast);
  await page.close();
}

// Both players with their controls and heart lines, the sentence, the links and the next step.
async function assertInSight(demo, { width, height }, name, inSight = { phone: IN_SIGHT, tv: IN_SIGHT }) {
  assert.equal(await demo.page.evaluate(() => window.scrollY), 0);
  const parts = [
    ['the sentence', demo.page.locator('.pitch')],
    ['the links', demo.page.locator('nav')],
    ['the next step', demo.guide.root.locator('[aria-current=step] .hint')],
    ...demo.devices().flatMap((device) => {
      return (inSight[device.name] ?? []).map((role) => [`${role} of ${device.name}`, device.part(role)]);
    }),
  ];
  for (const [what, part] of parts) {
    const box = await part.boundingBox();
    assert.ok(box && box.width > 0 && box.height > 0, `${name}: ${what} is not shown`);
    const inside = box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
    assert.ok(inside, `${name}: ${what} is out of sight: ${JSON.stringify(box)}`);
  }
  for (const link of await demo.page.locator('nav a').all()) {
    const answer = await demo.page.request.get(new URL(await link.getAttribute('href'), demo.page.url()).href);
    assert.equal(answer.status(), 200, await link.textContent());
  }
}

// The number of the current step is painted in another colour than those of the others.
async function assertStepShown(page, name) {
  const [current, other] = await page.evaluate(() => ['[aria-current=step]', ':not([aria-current])'].map((which) => {
    return getComputedStyle(document.querySelector(`[data-step]${which}`), '::before').backgroundColor;
  }));
  assert.notEqual(current, other, `${name}: the current step`);
}

// The seek bar is painted: what was played, and what was not, in two colours of which neither is the ground's.
async function assertBarShown(page, device, name) {
  const picture = await device.part('seek').screenshot();
  const colors = await page.evaluate(colorsAlong, picture.toString('base64'));
  const [ground, played, unplayed] = [colors.corner, colors.left, colors.right].map(String);
  assert.equal(new Set([ground, played, unplayed]).size, 3, `${name}: the seek bar: ${JSON.stringify(colors)}`);
}

// Runs in the page: of this picture the colour of a corner, and those near both ends of its middle line.
async function colorsAlong(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const pen = new OffscreenCanvas(image.width, image.height).getContext('2d');
  pen.drawImage(image, 0, 0);
  const at = (x, y) => [...pen.getImageData(x, y, 1, 1).data];
  const middle = Math.floor(image.height / 2);
  return { corner: at(2, 2), left: at(3, middle), right: at(image.width - 4, middle) };
}

// Opens all that is closed, and brings a few bots.
async function showAll(demo, { width }) {
  for (const device of demo.devices()) {
    const narrow = width < 700;
    assert.equal(await device.part('more').isVisible(), narrow);
    assert.equal(await device.part('clear').isVisible(), !narrow);
    if (narrow) await device.click('more');
    assert.equal(await device.part('clear').isVisible(), true);
  }
  await demo.openHood();
  assert.equal(await demo.packs.root.isVisible(), false, 'the embedded store sends no packs');
  await demo.crowd.resize(CROWD);
  await demo.crowd.untilAtLeast('ack-chart', 'data-points', 2 * CROWD);
}

// "Forget all" asks: no means no, and yes means yes.
async function assertAsks({ page, phone, tv }, name, shot, contrast) {
  const dialog = page.locator('[data-role=question]');
  await phone.part('history').locator('[data-oid]').first().waitFor();
  await phone.click('clear');
  await dialog.waitFor();
  await assertAccessible(page, `${name}, asking`, { contrast });
  await assertTouchTargets(page, `${name}, asking`, '[data-role=question]');
  await page.screenshot({ path: shot });
  for (const refuse of [() => dialog.locator('[data-role=refuse]').click(), () => page.keyboard.press('Escape')]) {
    await phone.part('clear').evaluate((button) => document.querySelector('[data-role=question]').open || button.click());
    await refuse();
    await dialog.waitFor({ state: 'hidden' });
    assert.ok((await phone.part('history').locator('[data-oid]').count()) > 0, `${name}: forgotten without consent`);
  }
  if ((await phone.value('play', 'data-playing')) === 'true') await phone.pause();
  await phone.outboxEmpty();
  await phone.click('clear');
  await dialog.locator('[data-role=agree]').click();
  for (const device of [phone, tv]) await device.untilForgotten();
}

// Tab reaches the play button, and Enter presses it.
async function playByKeyboard(page, phone) {
  const FOCUS_STOPS_MAX = 60;
  for (let stop = 0; stop < FOCUS_STOPS_MAX; stop++) {
    await page.keyboard.press('Tab');
    if (await phone.part('play').evaluate((button) => button === document.activeElement)) {
      await page.keyboard.press('Enter');
      await phone.untilPlayed(2_500);
      return;
    }
  }
  throw new Error('the play button cannot be reached with Tab');
}
