// From the outbox to what a real gateway has stored.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Outbox } from '../../web-demo/client/heartline/outbox.js';
import { Media } from './media.mjs';
import { Stage, sent, until } from './stage.mjs';
import { MemoryStorage } from './storage.mjs';

const CONTENT = { kind: 1, oid: '100' };
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

const items = (client) => sent(client, 'beats').map(({ body }) => body.items);

async function answered(client) {
  await until('all answers', () => client.state === 'online' && client.unanswered === 0);
}

// A client that has played while it was off the network, with a beat at each of the seconds.
async function playedOffline(user, seconds, options) {
  const client = await stage.online(user, options);
  client.disconnect();
  const media = new Media();
  client.play(media, CONTENT);
  media.play();
  for (const second of seconds) {
    media.advance(0.1);
    media.seek(second);
  }
  return { client, media };
}

test('while acks come, each beat has a frame of its own', async () => {
  const client = await stage.online('1');
  const media = new Media();
  client.play(media, CONTENT);
  media.play();
  media.advance(0.1);
  await answered(client);
  for (let second = 1; second <= 5; second++) {
    media.advance(0.1);
    media.seek(second);
    await answered(client);
  }
  assert.deepEqual(items(client).map((list) => list.length), Array(6).fill(1));
  assert.equal(client.seen.acked.length, 6);
});

test('all beats of an absence are sent in one frame, the oldest first, and once', async () => {
  const { client, media } = await playedOffline('2', [10, 20, 30]);
  assert.equal(client.unanswered, 4);
  assert.equal(new Set(client.unansweredKeys).size, 4);
  client.connect();
  await answered(client);
  assert.deepEqual(items(client).map((list) => list.map(({ pos }) => pos)), [[100, 10_000, 20_000, 30_000]]);
  media.dispatchEvent(new Event('pause'));
  await answered(client);
  assert.equal((await stage.stored('2', '100'))[0].pos, 30_000);
});

test('a newer beat is sent while an older one is in flight, and neither twice', async () => {
  const client = await stage.online('3');
  const media = new Media();
  client.play(media, CONTENT);
  media.play();
  media.advance(1);
  media.dispatchEvent(new Event('playing'));  // the same beat again
  media.advance(1);
  media.seek(9);
  assert.equal(client.unanswered, 2);
  await answered(client);
  assert.deepEqual(items(client).map((list) => list.map(({ pos }) => pos)), [[1_000], [9_000]]);
});

test('a session that was thinned out is sent as it is kept', async () => {
  const { client } = await playedOffline('4', Array.from({ length: 60 }, (_, index) => index + 1));
  assert.equal(client.unanswered, 24);
  client.connect();
  await answered(client);
  const [list] = items(client);
  assert.deepEqual([list.length, list.at(-1).pos], [24, 60_000]);
  assert.deepEqual(client.seen.dropped, []);
});

test('what is flushed over HTTP goes the newest first', async () => {
  const requests = [];
  const { client } = await playedOffline('5', [10, 20], {
    fetch: async (url, options) => {
      requests.push(JSON.parse(options.body));
      return fetch(url, options);
    },
    WebSocket: silentAfterFirst(),
  });
  client.connect();
  client.flush();
  await until('the answer', () => client.unanswered === 0);
  assert.deepEqual(requests.map(({ items }) => items.map(({ pos }) => pos)), [[20_000, 10_000, 100]]);
  assert.equal((await stage.stored('5', '100'))[0].pos, 20_000);
});

// The first socket is real; later ones never open.
function silentAfterFirst() {
  let sockets = 0;
  return function Socket(url, protocols) {
    return sockets++ === 0 ? new WebSocket(url, protocols) : { send() {}, close() {} };
  };
}

// The gateway sees a `pos` of 666 as -1, as if it knew a rule that this client does not know.
class Distorting extends WebSocket {
  send(text) {
    super.send(text.replaceAll('"pos":666000,', '"pos":-1,'));
  }
}

test('a frame that is refused as a whole: only the beat that is wrong is lost', async () => {
  const { client } = await playedOffline('6', [10, 666, 20, 666, 666, 666, 30], { WebSocket: Distorting });
  const media = new Media();
  client.play(media, { kind: 1, oid: '200' });
  media.play();
  media.advance(0.1);
  media.seek(40);
  const all = client.unanswered;
  client.connect();
  await answered(client);
  const bad = client.seen.rejected.filter(({ reason }) => reason === 'invalid');
  assert.deepEqual(bad.map(({ beat }) => beat.pos), [666_000, 666_000, 666_000, 666_000]);
  assert.equal(client.seen.fault.length, 4);
  assert.match(client.seen.fault[0].message, /^invalid: .*pos.*; left out: .*"pos":666000/);
  assert.deepEqual(items(client).map((list) => list.length), [all, ...Array(all).fill(1)]);
  assert.deepEqual((await stage.stored('6', '100', '200')).map(({ pos }) => pos), [30_000, 40_000]);
  assert.equal(client.seen.state.at(-1).state, 'online');
  assert.ok(client.seen.state.every(({ state }) => state !== 'waiting'), 'never closed');
});

test('a position that cannot be sent is a fault, and the others are stored', async () => {
  const client = await stage.online('8');
  const media = new Media();
  client.play(media, CONTENT);
  media.play();
  media.advance(2);
  media.playbackRate = NaN;
  media.pause();
  media.playbackRate = 1;
  media.seek(5);
  await until('the acks', () => client.unanswered === 0);
  assert.match(client.seen.fault[0].message, /cannot be stored.*"rate":null/);
  assert.equal((await stage.stored('8', '100'))[0].pos, 5_000);
  assert.equal(client.state, 'online');
});

// Leaves in the storage what an earlier page had no answer to, and returns the beats.
function leftBehind(storage, user, beats) {
  const outbox = new Outbox({ storage, name: 'heartline', user, dropped: () => assert.fail('dropped') });
  for (const each of beats) outbox.put(each, each.at);
  return outbox.entries().map(({ beat }) => beat);
}

test('of a session whose clock was ahead, only the newest beat is made anew', async () => {
  const storage = new MemoryStorage();
  const ahead = Date.now() + 600_000;
  leftBehind(storage, '7', [1, 2, 3].map((second) => ({
    ...CONTENT, pos: 1000 * second, state: 'playing', session: '7', watched: 1, rate: 1, at: ahead + second,
  })));
  const client = await stage.online('7', { storage });
  await answered(client);
  assert.deepEqual(client.seen.rejected.map(({ reason }) => reason), ['clock', 'clock', 'clock']);
  assert.deepEqual(client.seen.beat.map(({ beat }) => beat.pos), [3_000]);
  assert.equal((await stage.stored('7', '100'))[0].pos, 3_000);
});

test('random absences and pauses: the gateway stores the newest kept beat outside the pauses', async () => {
  // A minute and more apart, so that the gateway judges each beat on its own.
  for (let user = 100; user < 130; user++) {
    const below = (most) => Math.floor(Math.random() * most);
    const begin = Date.now() - 40 * 3_600_000;
    const beats = [];
    for (let at = begin, left = 1 + below(60); left > 0; left--) {
      at += 61_000 + below(below(3) ? 60_000 : 1_800_000);
      const pos = at - begin;
      beats.push({ ...CONTENT, pos, state: 'playing', session: String(user), watched: pos, rate: 1, at });
    }
    const pauses = [];
    for (let from = beats[below(beats.length)].at - below(200_000), left = 1 + below(3); left > 0; left--) {
      const to = from + below(3_600_000);
      pauses.push({ from, to });
      from = to + 1 + below(600_000);
    }
    for (const { from, to } of pauses) {
      await stage.ask(String(user), 'PUT', '/v1/recording', { paused: true, at: from });
      await stage.ask(String(user), 'PUT', '/v1/recording', { paused: false, at: to });
    }
    const storage = new MemoryStorage();
    const kept = leftBehind(storage, String(user), beats);
    const client = await stage.online(String(user), { storage });
    await answered(client);
    const outside = kept.filter(({ at }) => pauses.every(({ from, to }) => at < from || at > to));
    const [record] = await stage.stored(String(user), '100');
    assert.equal(record?.at, outside.at(-1)?.at, JSON.stringify({ pauses, kept: kept.map(({ at }) => at) }));
    assert.equal(storage.length, 0);
    client.close();
  }
});
