// What a viewer earns, and what a consumer makes of it. Each step takes what the one before it left.
import assert from 'node:assert/strict';
import { slowAnimations } from './browser.mjs';
import { PATIENCE_MS } from './demo_page.mjs';
import { worth } from './worth.mjs';

const USER = '7';

async function untilPointsAreWorth(rewards, gateway, least) {
  await rewards.untilAtLeast('points', 'data-count', least);
  assert.equal(await rewards.number('points', 'data-count'), worth(await gateway.events(), USER));
}

function ids(rows) {
  return rows.evaluateAll((all) => all.map((row) => row.dataset.id).sort());
}

export const steps = [
  [
    'a user who has earned nothing today has no flag',
    async ({ demo, memory }) => {
      const { page, phone, tv, rewards } = demo;
      await demo.openHood();
      await page.locator('[data-role=user]').selectOption(USER);
      for (const device of [phone, tv]) {
        await device.online();
        assert.equal(await device.tapeRows('welcome').first().getAttribute('data-flag'), null);
      }
      await rewards.untilShown('to-midnight');
      memory.day = await rewards.value('today', 'data-day');
      assert.match(memory.day, /^\d{4}-\d\d-\d\d$/);
      assert.equal(await rewards.value('today', 'data-zone'), 'UTC');
      assert.equal(await rewards.number('points', 'data-count'), 0);
    },
  ],
  [
    'the phone earns the first watch of the day and the first view of its video',
    async ({ demo: { page, phone, tv, rewards }, gateway, memory, shot }) => {
      memory.animations = await slowAnimations(page);
      await phone.click('play');
      await phone.toasts('first-view').waitFor();
      await phone.toasts('first-of-day').waitFor();
      const shown = await ids(phone.part('toast'));
      const of = `${memory.day}:${USER}`;
      assert.deepEqual(shown, [`first-of-day:${of}`, `first-view:${of}:1:100`]);
      assert.equal(await tv.part('toast').count(), 0);
      await phone.pause();
      await untilPointsAreWorth(rewards, gateway, 12);
      await shot('earned');
      memory.events = [`first-of-day:${of}`, `first-view:${of}:1:100`];
      assert.deepEqual(await ids(rewards.events(USER)), memory.events);
      assert.deepEqual(await rewards.freshness(USER), ['true', 'true']);
    },
  ],
  [
    'its next beat carries the flag, and toasts go by themselves',
    async ({ demo: { phone }, memory }) => {
      await phone.click('play');
      await phone.flagged('beats', memory.day).first().waitFor();
      await phone.flagged('ack', memory.day).first().waitFor();
      await memory.animations.detach();
      await phone.toasts('first-of-day').waitFor({ state: 'detached' });
      await phone.pause();
    },
  ],
  [
    'the TV was told the flag, and its beats carry it from the first on',
    async ({ demo: { page, tv, rewards }, gateway, memory }) => {
      memory.animations = await slowAnimations(page);
      await tv.flagged('push', memory.day).first().waitFor();
      await tv.part('content').selectOption('101');
      await tv.click('play');
      await tv.toasts('first-view').waitFor();
      assert.deepEqual(await ids(tv.part('toast')), [`first-view:${memory.day}:${USER}:1:101`]);
      assert.equal(await tv.tape.locator(`[data-kind=beats]:not([data-flag="${memory.day}"])`).count(), 0);
      await tv.toasts('first-view').click();
      assert.equal(await tv.part('toast').count(), 0);
      await untilPointsAreWorth(rewards, gateway, 14);
      await tv.pause();
    },
  ],
  [
    'rewards of today can be listed',
    async ({ demo: { page }, memory }) => {
      const { day, rewards } = await page.evaluate(askForRewards, USER);
      assert.equal(day, memory.day);
      const of = `${memory.day}:${USER}`;
      const wanted = [`first-of-day:${of}`, `first-view:${of}:1:100`, `first-view:${of}:1:101`];
      assert.deepEqual(rewards.map(({ id }) => id).sort(), wanted);
      memory.events = wanted;
    },
  ],
  [
    'a replay runs all events by again, and the points stay',
    async ({ demo: { rewards }, gateway, memory, shot }) => {
      const again = await rewards.number('events-again', 'data-count');
      const all = (await gateway.events()).length;
      await rewards.click('replay');
      await rewards.untilAtLeast('events-again', 'data-count', again + all);
      assert.deepEqual(await ids(rewards.events(USER)), memory.events);
      assert.deepEqual(await rewards.freshness(USER), ['false', 'false', 'false']);
      await untilPointsAreWorth(rewards, gateway, 14);
      await shot('replayed');
    },
  ],
  [
    'a reload keeps the points',
    async ({ demo, gateway, memory }) => {
      const { page, phone, rewards } = demo;
      await memory.animations.detach();
      await page.reload();
      await phone.online();
      await demo.openHood();
      await untilPointsAreWorth(rewards, gateway, 14);
      assert.equal(await rewards.number('events-counted', 'data-count'), 0);
    },
  ],
  [
    'after midnight a viewer who goes on watching earns the first watch again',
    async ({ demo: { page, phone, rewards }, gateway, memory, shot }) => {
      await slowAnimations(page);
      await phone.setLoop(true);
      await phone.click('play');
      await phone.flagged('beats', memory.day).first().waitFor();
      await rewards.click('to-midnight');
      const next = new Date(Date.parse(memory.day) + 24 * 3_600_000).toISOString().slice(0, 10);
      await rewards.untilIs('today', 'data-day', next);
      await phone.toasts('first-of-day').waitFor();
      assert.equal(await phone.toasts('first-of-day').getAttribute('data-day'), next);
      await phone.flagged('ack', next).first().waitFor();
      // Until then it said yesterday's flag, and was told none.
      const unflagged = phone.tape.locator('[data-kind=ack]:not([data-flag])');
      assert.ok((await unflagged.count()) >= 1);
      await untilPointsAreWorth(rewards, gateway, 26);
      await shot('midnight');
      memory.day = next;
    },
  ],
  [
    'a restart keeps the day, the flag and the events, and the consumer goes on',
    async ({ demo: { phone, tv, rewards }, gateway, memory }) => {
      await phone.pause();
      await gateway.kill();
      await tv.untilIs('state', 'data-state', 'waiting');
      await gateway.start();
      const points = worth(await gateway.events(), USER);
      for (const device of [phone, tv]) {
        await device.online();
        await device.flagged('welcome', memory.day).waitFor();
      }
      assert.equal(await rewards.number('points', 'data-count'), points);
      await tv.part('content').selectOption('102');
      await tv.click('play');
      await tv.toasts('first-view').waitFor();
      await untilPointsAreWorth(rewards, gateway, points + 2);
      await tv.pause();
    },
  ],
  [
    'rewards earned with a request are shown, too',
    async ({ demo: { page }, memory }) => {
      const { day, rewards, flag } = await page.evaluate(earnOverHttp, { user: '77', patience: PATIENCE_MS });
      assert.equal(day, memory.day);
      assert.equal(flag, memory.day);
      assert.deepEqual(rewards.sort(), [`first-of-day:${day}:77`, `first-view:${day}:77:1:500`]);
    },
  ],
];

// Runs in the page.
async function askForRewards(user) {
  const { Heartline } = await import('/demo/client/heartline.js');
  const headers = { 'content-type': 'application/json' };
  const getToken = async () => {
    const answer = await fetch('/demo/token', { method: 'POST', headers, body: JSON.stringify({ mid: user, ttl: 60 }) });
    return (await answer.json()).token;
  };
  const client = new Heartline({ user, getToken, storage: null });
  const welcomed = new Promise((resolve) => client.addEventListener('welcome', resolve));
  client.connect();
  await welcomed;
  const answer = await client.rewards();
  client.close();
  return answer;
}

// Runs in the page: a client whose socket loses all beats, so that only its flushes bring them.
async function earnOverHttp({ user, patience }) {
  const { Heartline } = await import('/demo/client/heartline.js');
  const { Film } = await import('/demo/swarm/film.js');
  const headers = { 'content-type': 'application/json' };
  const getToken = async () => {
    const answer = await fetch('/demo/token', { method: 'POST', headers, body: JSON.stringify({ mid: user, ttl: 60 }) });
    return (await answer.json()).token;
  };
  class Deaf extends WebSocket {
    send(text) {
      if (JSON.parse(text).beats === undefined) super.send(text);
    }
  }
  const client = new Heartline({ user, getToken, storage: null, WebSocket: Deaf });
  const told = { day: '', rewards: [], flag: '' };
  const done = new Promise((resolve) => {
    setTimeout(resolve, patience);
    client.addEventListener('welcome', ({ detail }) => { told.day = detail.today; });
    client.addEventListener('flag', ({ detail }) => { told.flag = detail.flag; });
    client.addEventListener('reward', ({ detail }) => {
      told.rewards.push(detail.id);
      if (told.rewards.length === 2) resolve();
    });
  });
  client.addEventListener('beat', () => client.flush());
  const film = new Film(60, 0);
  client.play(film, { kind: 1, oid: '500' });
  client.connect();
  await new Promise((resolve) => client.addEventListener('welcome', resolve));
  film.play();
  await done;
  film.pause();
  client.close();
  return told;
}
