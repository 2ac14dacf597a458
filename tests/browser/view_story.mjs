// Views under the videos and by day, counted by playback. Each step takes what the one before it left.
import assert from 'node:assert/strict';

const USERS = ['42', '7'];

export const steps = [
  [
    'before anybody has watched there are no views',
    async ({ demo: { views, phone, tv } }) => {
      await views.root.waitFor({ state: 'visible' });
      for (const oid of ['100', '101', '102']) assert.equal(await views.total(oid), 0);
      for (const device of [phone, tv]) await device.untilIs('viewed', 'data-count', 0);
    },
  ],
  [
    'five seconds of playback are a view, and both devices show it',
    async ({ demo: { views, phone, tv }, shot }) => {
      await phone.click('play');
      await views.untilTotal('100', 1);
      for (const device of [phone, tv]) await device.untilIs('viewed', 'data-count', 1);
      assert.equal((await phone.part('viewed').innerText()).trim(), '1 view');
      assert.deepEqual((await views.days('100')).slice(-2), [0, 1]);
      await shot('views');
    },
  ],
  [
    'the same user on the TV is no second view; another video is one',
    async ({ demo: { views, phone, tv } }) => {
      await phone.pause();
      await tv.click('play');
      await tv.untilPlayed(6_500);
      await tv.pause();
      await tv.outboxEmpty();
      await tv.part('content').selectOption('101');
      await tv.click('play');
      await views.untilTotal('101', 1);
      await tv.untilIs('viewed', 'data-count', 1);
      await tv.pause();
      assert.equal(await views.total('100'), 1);
    },
  ],
  [
    'another user is',
    async ({ demo: { page, views, phone } }) => {
      await page.locator('[data-role=user]').selectOption(USERS[1]);
      await phone.online();
      // It goes on until after midnight.
      await phone.setLoop(true);
      await phone.click('play');
      await views.untilTotal('100', 2);
    },
  ],
  [
    'after midnight the same user views the video again, on the new day',
    async ({ demo: { views, phone, rewards }, shot }) => {
      await rewards.click('to-midnight');
      await views.untilTotal('100', 3);
      assert.deepEqual((await views.days('100')).slice(-2), [2, 1]);
      assert.deepEqual((await views.days('101')).slice(-2), [1, 0]);
      await phone.pause();
      await shot('views-midnight');
    },
  ],
  [
    'a restart keeps them, and says meanwhile that they cannot be read',
    async ({ demo: { page, views, phone }, gateway }) => {
      await gateway.kill();
      await views.untilShown('fault');
      assert.equal(await views.total('100'), 3);
      await gateway.start();
      await phone.online();
      await views.part('fault').waitFor({ state: 'hidden' });
      assert.equal(await views.total('100'), 3);
      await page.reload();
      await views.untilTotal('100', 3);
    },
  ],
  [
    'forgetting everything lowers no number',
    async ({ demo: { page, views, phone } }) => {
      await phone.online();
      await phone.click('clear');
      await page.locator('[data-role=question] [data-role=agree]').click();
      await phone.untilForgotten();
      await page.reload();
      await views.untilTotal('100', 3);
      assert.equal(await views.total('101'), 1);
    },
  ],
];
