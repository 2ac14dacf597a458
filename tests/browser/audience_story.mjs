// Who has a video in the history, and who has finished it: derived counters, which no setting asks for.
import assert from 'node:assert/strict';
import { untilAudience } from './demo_page.mjs';

const USERS = ['42', '7'];
// Of a video of 40 seconds: more than nine tenths.
const NEAR_THE_END = '37';

export const steps = [
  [
    'before anybody has watched no video is in a history',
    async ({ demo: { audiences, phone, tv } }) => {
      await untilAudience([phone, tv, ...audiences], 0, 0);
      assert.equal(await text(phone), 'Not in any history');
    },
  ],
  [
    'a user who watches is one person, on two devices also',
    async ({ demo: { audiences, phone, tv } }) => {
      await phone.click('play');
      await untilAudience([phone, tv, audiences[0]], 1, 0);
      assert.equal(await text(phone), '1 person has this in their history, 0 have finished it');
      await phone.pause();
      await tv.click('play');
      await tv.untilPlayed(2_000);
      await tv.pause();
      await tv.outboxEmpty();
      await untilAudience([audiences[0]], 1, 0);
      await untilAudience([audiences[1]], 0, 0);
    },
  ],
  [
    'another user watches to the end: two people, and one has finished',
    async ({ demo: { page, audiences, phone, tv }, shot }) => {
      await page.locator('[data-role=user]').selectOption(USERS[1]);
      await phone.online();
      await phone.click('play');
      await untilAudience([phone, tv, audiences[0]], 2, 0);
      await phone.part('seek').fill(NEAR_THE_END);
      await untilAudience([phone, tv, audiences[0]], 2, 1);
      await phone.outboxEmpty();
      for (const part of [phone, tv, audiences[0]]) {
        assert.equal(await text(part), '2 people have this in their history, 1 has finished it');
      }
      await shot('audience');
    },
  ],
  [
    'a restart keeps the numbers',
    async ({ demo: { page, audiences, phone, tv }, gateway }) => {
      await gateway.kill();
      await gateway.start();
      await phone.online();
      await page.reload();
      await untilAudience([phone, tv, audiences[0]], 2, 1);
    },
  ],
  [
    'a video that is deleted from the history is not counted for its user any more',
    async ({ demo: { page, audiences, phone, tv } }) => {
      await page.locator('[data-role=user]').selectOption(USERS[1]);
      await phone.online();
      await phone.part('history').locator('[data-oid="100"]').first().waitFor();
      await phone.click('delete');
      await untilAudience([phone, tv, audiences[0]], 1, 0);
      await page.locator('[data-role=user]').selectOption(USERS[0]);
      await phone.online();
      await phone.part('history').locator('[data-oid="100"]').first().waitFor();
      await phone.click('delete');
      await untilAudience([phone, tv, audiences[0]], 0, 0);
    },
  ],
];

async function text(part) {
  return (await part.part('audience').innerText()).trim();
}
