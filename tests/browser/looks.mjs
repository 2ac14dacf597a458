// Pictures for a person: the page on a narrow screen, in the dark, and by keyboard alone.
import assert from 'node:assert/strict';
import { DemoPage } from './demo_page.mjs';

const CROWD = 20;
const VIEWS = {
  narrow: { viewport: { width: 390, height: 844 } },
  dark: { viewport: { width: 1360, height: 900 }, colorScheme: 'dark' },
  still: { viewport: { width: 1360, height: 900 }, reducedMotion: 'reduce' },
};

export async function looks(browser, url, shots) {
  for (const [name, options] of Object.entries(VIEWS)) {
    const page = await browser.newPage(options);
    await page.goto(url);
    const { phone, crowd } = new DemoPage(page);
    await phone.online();
    await crowd.resize(CROWD);
    await playByKeyboard(page, phone);
    await crowd.untilAtLeast('ack-chart', 'data-points', 2 * CROWD);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(wide <= 0, `${name}: the page is ${wide} px wider than the screen`);
    await page.screenshot({ path: `${shots}/${name}.png`, fullPage: true });
    await page.close();
    console.log(`ok  looks: ${name}`);
  }
}

// Tab reaches the play button, and Enter presses it.
async function playByKeyboard(page, phone) {
  const FOCUS_STOPS_MAX = 60;
  for (let stop = 0; stop < FOCUS_STOPS_MAX; stop++) {
    await page.keyboard.press('Tab');
    if (await phone.part('play').evaluate((button) => button === document.activeElement)) {
      await page.keyboard.press('Enter');
      await phone.untilPlayed(500);
      return;
    }
  }
  throw new Error('the play button cannot be reached with Tab');
}
