// What comes and goes on a screen of one size: toasts, and the button of a client that waits. Each step takes what the
// one before it left.
import assert from 'node:assert/strict';
import { assertAccessible, assertTouchTargets } from './accessibility.mjs';
import { slowAnimations } from './browser.mjs';
import { assertCoversNothing, assertLabelsWhole, assertNeverCovers, assertReadable, assertTimeInSight } from './sight.mjs';

const TOASTS = '[data-role=toast]';

export const steps = [
  [
    'nothing is cut off',
    async ({ demo: { page, phone, tv } }) => {
      for (const device of [phone, tv]) await device.online();
      await assertReadable(page, 'at first');
    },
  ],
  [
    'toasts cover nothing, and stay under the pointer',
    async ({ demo: { page, phone, tv }, shot, story }) => {
      const animations = await slowAnimations(page);
      for (const device of [phone, tv]) await device.setLoop(true);
      await phone.click('play');
      for (const rule of ['first-of-day', 'first-view']) await phone.toasts(rule).waitFor();
      await phone.toasts('first-view').hover();
      const played = await phone.toasts('first-of-day').evaluate((toast) => getComputedStyle(toast).animationPlayState);
      assert.equal(played, 'paused');
      // A note stands in the picture below them. The pointer stays where it is.
      await tv.untilShown('resume');
      // It goes with the next beat of the phone, which plays, and is offered nothing.
      await Promise.all([
        assertNeverCovers(page, phone.selector('elsewhere')),
        tv.part('play').evaluate((button) => button.click()),
      ]);
      assert.equal(await phone.part('resume').isVisible(), false);
      for (const cover of [TOASTS, '.watching']) await assertCoversNothing(page, cover);
      // They lie on the colour of the device, from which they come.
      const [band, casing] = await phone.root.evaluate((device) => {
        return ['.toasts', '.casing'].map((part) => getComputedStyle(device.querySelector(part)).backgroundColor);
      });
      assert.equal(band, casing);
      await assertLabelsWhole(page, 'with toasts');
      await assertTimeInSight(page, 'with toasts');
      await assertReadable(page, 'with toasts');
      await assertTouchTargets(page, 'with toasts');
      await shot(`${story}-toasts`);
      await animations.detach();
    },
  ],
  [
    'toasts go by themselves, also while nothing plays',
    async ({ demo: { page, phone, tv } }) => {
      for (const device of [phone, tv]) await device.pause();
      await page.mouse.move(0, 0);
      await page.waitForFunction((toasts) => document.querySelector(toasts) === null, TOASTS);
    },
  ],
  [
    'while the client waits, it can be told to connect now',
    async ({ demo: { page, phone, tv }, gateway, shot, story }) => {
      for (const device of [phone, tv]) {
        assert.equal(await device.part('retry').isVisible(), false);
        assert.equal(await device.part('cut').isVisible(), true);
      }
      await gateway.kill();
      for (const device of [phone, tv]) {
        await device.untilShown('retry');
        assert.equal(await device.part('cut').isVisible(), false);
      }
      await tv.untilAtLeast('state', 'data-seconds', 2);
      await assertReadable(page, 'waiting');
      await assertTouchTargets(page, 'waiting');
      await assertAccessible(page, 'waiting');
      await shot(`${story}-waiting`);
      for (const device of [phone, tv]) {
        const pressed = await device.pressRetry();
        assert.deepEqual(pressed, { state: 'connecting', shown: true, disabled: 'true' }, device.name);
      }
    },
  ],
  [
    'connected again, "Cut" is in its place and has the focus',
    async ({ demo: { page, phone, tv }, gateway }) => {
      await gateway.start();
      for (const device of [phone, tv]) {
        await device.online();
        assert.equal(await device.part('retry').isVisible(), false);
        assert.equal(await device.part('cut').isVisible(), true);
      }
      const focused = await page.evaluate(() => document.activeElement.dataset.role);
      assert.equal(focused, 'cut');
      await assertReadable(page, 'back');
    },
  ],
];
