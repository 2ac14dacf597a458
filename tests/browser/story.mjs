// What a viewer of the demo page does and sees. Each step continues with the state of the one before.
import assert from 'node:assert/strict';

// Between a position and the beat that tells it.
const POSITION_SLACK_MS = 1_500;

function near(actual, wanted, what) {
  assert.ok(Math.abs(actual - wanted) <= POSITION_SLACK_MS, `${what}: ${actual} instead of about ${wanted}`);
}

export const steps = [
  [
    'both devices are online',
    async ({ demo, shot }) => {
      for (const device of demo.devices()) await device.online();
      await shot('online');
      await demo.openHood();
    },
  ],
  [
    'the phone plays, and its beats are acked',
    async ({ demo: { phone } }) => {
      const began = performance.now();
      await phone.click('play');
      await phone.untilPlayed(2_500);
      await phone.untilAtLeast('acked', 'data-count', 1);
      const latency = await phone.number('latency-last', 'data-ms');
      assert.ok(latency > 0 && latency < performance.now() - began, `acked after ${latency} ms`);
    },
  ],
  [
    'while the phone plays on, the position on the TV moves every few seconds',
    async ({ demo: { phone, tv } }) => {
      await tv.untilAtLeast('resume', 'data-pos', 4_500);
      assert.equal(await phone.value('play', 'data-playing'), 'true');
      // A beat every 5 s, and 5 s until it is told: with the default of 30 s that position would be a later one.
      assert.ok((await tv.number('resume', 'data-pos')) < 25_000);
    },
  ],
  [
    'the position follows to the TV when the phone pauses',
    async ({ demo: { phone, tv }, shot }) => {
      const paused = await phone.pause();
      await tv.untilAtLeast('resume', 'data-pos', paused - 500);
      await tv.untilShown('resume');
      near(await tv.number('resume', 'data-pos'), paused, 'offered on the TV');
      assert.equal(await tv.value('resume', 'data-from'), 'phone');
      const clock = await phone.part('clock').textContent();
      assert.equal(await tv.part('resume').textContent(), `Continue at ${clock} from the phone`);
      assert.equal(await tv.part('history').locator('.where').first().textContent(), `${clock} on the phone`);
      await shot('offered');
    },
  ],
  [
    'the TV continues where the phone was',
    async ({ demo: { phone, tv }, shot }) => {
      const offered = await tv.number('resume', 'data-pos');
      // Until it is told that the phone plays.
      await tv.setLoop(true);
      await tv.click('resume');
      await tv.untilPlayed(offered + 500);
      near(await tv.playedFrom(), offered, 'resumed on the TV');
      await tv.untilAtLeast('acked', 'data-pos', offered);
      assert.equal(await phone.value('play', 'data-playing'), 'false');
      await shot('continued');
    },
  ],
  [
    'the phone plays what plays on the TV, and the TV says so',
    async ({ demo, demo: { page, phone, tv } }) => {
      await page.evaluate(recordNotes, tv.selector('elsewhere'));
      await phone.click('play');
      await demo.until('a note on the TV', () => window.notes.some((note) => /phone/.test(note)));
      await tv.setLoop(false);
      await phone.pause();
      await phone.outboxEmpty();
    },
  ],
  [
    'the viewer comes back to the TV, which says nothing before',
    async ({ demo: { tv } }) => {
      const acked = await tv.number('acked', 'data-count');
      await tv.pause();
      await tv.outboxEmpty();
      assert.equal(await tv.number('acked', 'data-count'), acked);
      await tv.click('play');
      await tv.untilAtLeast('acked', 'data-count', acked + 1);
    },
  ],
  [
    'a cut socket comes back by itself',
    async ({ demo: { tv } }) => {
      const welcomes = await tv.tapeRows('welcome').count();
      await tv.click('cut');
      await tv.tapeRows('welcome').nth(welcomes).waitFor();
      await tv.online();
      await tv.outboxEmpty();
      // A clip has forty seconds, and one that is nearly over is not offered.
      await tv.part('seek').fill('8');
      await tv.untilAtMost('acked', 'data-pos', 12_000);
    },
  ],
  [
    'the server is killed: the TV plays on and keeps its beats',
    async ({ demo: { tv }, gateway, memory, shot }) => {
      await gateway.kill();
      await tv.untilIs('state', 'data-state', 'waiting');
      await tv.untilPlayed((await tv.position()) + 1_000);
      memory.paused = await tv.pause();
      await tv.untilAtLeast('outbox', 'data-count', 1);
      await shot('killed');
    },
  ],
  [
    'the server is back: unacked beats are sent and acked',
    async ({ demo: { tv }, gateway, memory, shot }) => {
      await gateway.start();
      await tv.online();
      await tv.outboxEmpty();
      near(await tv.number('acked', 'data-pos'), memory.paused, 'acked after the restart');
      await shot('restarted');
    },
  ],
  [
    'killed again, the page is left with unacked beats',
    async ({ demo: { page, tv }, gateway, memory }) => {
      await tv.click('play');
      await tv.untilPlayed(memory.paused + 1_000);
      await gateway.kill();
      await tv.untilIs('state', 'data-state', 'waiting');
      await tv.untilPlayed((await tv.position()) + 1_500);
      memory.left = await tv.pause();
      await tv.untilAtLeast('outbox', 'data-count', 1);
      await assert.rejects(page.reload(), /ERR_CONNECTION_REFUSED/);
      // The browser's own page about it comes after the refusal, and would break off what is opened meanwhile.
      await page.waitForURL(/^chrome-error:/, { waitUntil: 'commit' });
      // It loads itself again once the server is back, which would break that off, too.
      await page.goto('about:blank');
    },
  ],
  [
    'reloaded from the new server, the page sends them, and playback resumes there',
    async ({ demo: { page, tv }, gateway, memory, shot }) => {
      await gateway.start();
      await page.goto(gateway.url);
      await tv.online();
      await tv.outboxEmpty();
      await tv.untilAtLeast('resume', 'data-pos', memory.left - POSITION_SLACK_MS);
      near(await tv.number('resume', 'data-pos'), memory.left, 'offered after the reload');
      await tv.click('resume');
      await tv.untilPlayed(memory.left + 500);
      await tv.untilAtLeast('acked', 'data-pos', memory.left);
      await shot('reloaded');
    },
  ],
  [
    'a pause of recording reaches the other device, and nothing new is recorded',
    async ({ demo: { phone, tv } }) => {
      await tv.pause();
      await tv.outboxEmpty();
      await phone.click('recording');
      // The push may reach the TV before the phone has its answer.
      for (const device of [phone, tv]) {
        await device.untilIs('recording', 'aria-pressed', true);
        assert.equal(await device.part('unrecorded').isVisible(), true, device.name);
      }
      const before = await tv.historyPosition();
      await tv.click('play');
      await tv.untilPlayed((await tv.position()) + 2_500);
      await tv.pause();
      await tv.outboxEmpty();
      // The row of the pause before may have come a moment after it was looked at.
      const recorded = (await tv.historyPosition()) - before;
      assert.ok(recorded < 1_000, `${recorded} ms were recorded`);
      await phone.click('recording');
      for (const device of [phone, tv]) {
        await device.untilIs('recording', 'aria-pressed', false);
        assert.equal(await device.part('unrecorded').isVisible(), false, device.name);
      }
    },
  ],
  [
    'offline keeps the beats until it is pressed again',
    async ({ demo: { tv } }) => {
      await tv.click('offline');
      await tv.untilIs('state', 'data-state', 'offline');
      await tv.click('play');
      await tv.untilAtLeast('outbox', 'data-count', 1);
      await tv.pause();
      await tv.click('offline');
      await tv.online();
      await tv.outboxEmpty();
    },
  ],
  [
    'who just presses play goes on where the other device stopped',
    async ({ demo: { phone, tv } }) => {
      const left = await tv.position();
      await phone.untilAtLeast('resume', 'data-pos', left - 500);
      const offered = await phone.number('resume', 'data-pos');
      await phone.click('play');
      await phone.untilPlayed(offered + 500);
      near(await phone.playedFrom(), offered, 'played on the phone');
      await phone.part('resume').waitFor({ state: 'hidden' });
      await phone.pause();
      await phone.outboxEmpty();
    },
  ],
  [
    'who has moved the video plays from there',
    async ({ demo: { phone, tv } }) => {
      await tv.untilAtLeast('resume', 'data-pos', (await phone.position()) - 500);
      await tv.part('seek').fill('3');
      // What was played before may reach up to there.
      const began = tv.part('video').evaluate((video) => new Promise((resolve) => {
        video.addEventListener('playing', () => resolve(Math.round(video.currentTime * 1000)), { once: true });
      }));
      await tv.click('play');
      await tv.untilPlayed(3_500);
      near(await began, 3_000, 'played on the TV');
      await tv.pause();
      await tv.outboxEmpty();
    },
  ],
  [
    'a record deleted on one device is gone on both',
    async ({ demo, shot }) => {
      await demo.tv.click('delete');
      for (const device of demo.devices()) await device.untilForgotten();
      await shot('forgotten');
    },
  ],
  [
    'the clock of a player shows the second of its picture, at every frame',
    async ({ demo: { page, tv } }) => {
      await tv.part('seek').fill('2');
      await tv.click('play');
      await tv.untilPlayed(2_500);
      assert.deepEqual(await page.evaluate(framesWithAnotherClock, tv.within), []);
    },
  ],
];

// Runs in the page: from now on what the note says, which is gone with the next beat that is acked.
function recordNotes(selector) {
  const note = document.querySelector(selector);
  window.notes = [];
  new MutationObserver(() => note.hidden || window.notes.push(note.textContent)).observe(note, { attributes: true });
}

// Runs in the page: of three seconds of frames, those whose second is not the one that the clock shows.
async function framesWithAnotherClock(within) {
  const [video, clock] = ['video', 'clock'].map((role) => document.querySelector(`${within} [data-role=${role}]`));
  const others = [];
  const until = performance.now() + 3_000;
  while (performance.now() < until) {
    const { mediaTime } = await new Promise((resolve) => video.requestVideoFrameCallback((_, frame) => resolve(frame)));
    const shown = clock.textContent;
    if (shown !== `0:${String(Math.floor(mediaTime)).padStart(2, '0')}`) others.push({ mediaTime, shown });
  }
  return others;
}
