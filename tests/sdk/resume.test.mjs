// `resume`: goes where the viewer was, and replaces no position that it does not know yet.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { resumeOf } from '../../web-demo/client/heartline/beat.js';
import { Media } from './media.mjs';
import { Stage, sent, token, until } from './stage.mjs';
import { MemoryStorage } from './storage.mjs';

const CONTENT = { kind: 1, oid: '100' };
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// What another device has stored before.
async function stored(user, seconds, rest = {}) {
  const beat = { ...CONTENT, pos: seconds * 1000, dur: 600_000, state: 'paused', session: '7', watched: 1_000, at: Date.now() - 60_000, ...rest };
  const { rejected } = await stage.ask(user, 'POST', '/v1/beats', { items: [beat] });
  assert.deepEqual(rejected, []);
}

async function position(user, oid = '100') {
  const [record] = await stage.stored(user, oid);
  return record && record.pos / 1000;
}

// A client whose token comes when `answer` is called, and what it resumes.
function waiting(user, options = {}) {
  let answer;
  const gate = new Promise((resolve) => { answer = resolve; });
  const getToken = async () => {
    await gate;
    return token(user);
  };
  const client = stage.client(user, { getToken, ...options });
  client.connect();
  return { ...resumed(client), answer };
}

function resumed(client, content = CONTENT, media = new Media()) {
  const offers = [];
  const playback = client.resume(media, content, { onOffer: (record) => offers.push(record) });
  return { client, media, playback, offers };
}

async function answered({ client, playback }) {
  await playback.place;
  await until('the acks', () => client.state === 'online' && client.unanswered === 0);
}

const beats = (client) => sent(client, 'beats').flatMap(({ body }) => body.items);

test('what plays before the position is known replaces nothing: the element goes there', async () => {
  await stored('1', 300);
  const here = waiting('1');
  here.media.play();
  for (const seconds of [0.7, 1, 1]) here.media.advance(seconds);
  here.media.pause();
  here.media.play();
  here.client.flush();
  here.answer();
  const record = await here.playback.place;
  assert.deepEqual([record.pos, here.media.currentTime], [300_000, 300]);
  here.media.advance(2);
  here.media.pause();
  await answered(here);
  assert.deepEqual(beats(here.client).map(({ pos, watched }) => [pos, watched]), [[302_000, 2_000], [302_000, 2_000]]);
  assert.deepEqual([await position('1'), here.offers, here.client.seen.rejected], [302, [], []]);
});

test('a viewer who has watched on is asked, and reported from where they are', async () => {
  await stored('2', 300);
  const here = waiting('2');
  here.media.play();
  here.media.advance(3);
  assert.deepEqual(here.client.seen.beat, [], 'not yet watched for more than 5 s');
  here.media.advance(3);
  assert.equal(here.client.unanswered, 1);
  here.client.flush();
  assert.equal(await position('2'), 300);
  here.answer();
  await answered(here);
  assert.deepEqual(here.offers.map(({ pos, resume }) => [pos, resume]), [[300_000, 300_000]]);
  assert.deepEqual([here.media.currentTime, await position('2')], [6, 6]);
});

test('a viewer who has seeked is asked, too; a seek that moves nothing is none', async () => {
  for (const [user, second, wanted] of [['3', 40, 40], ['4', 0, 300]]) {
    await stored(user, 300);
    const here = waiting(user);
    here.media.play();
    here.media.advance(0.5);
    here.media.seek(second);
    here.answer();
    await here.playback.place;
    assert.equal(here.media.currentTime, wanted);
    assert.equal(here.offers.length, wanted === 300 ? 0 : 1);
    here.media.advance(1);
    here.media.pause();
    await answered(here);
    assert.equal(await position(user), wanted + 1);
  }
});

test('without a position, or with one that was finished, the playback begins where it is', async () => {
  for (const [user, state] of [['5', null], ['6', 'ended']]) {
    if (state) await stored(user, 600, { state });
    const here = waiting(user);
    here.media.play();
    here.media.advance(2);
    here.media.pause();
    assert.deepEqual(here.client.seen.beat, []);
    here.answer();
    await answered(here);
    assert.deepEqual([here.media.currentTime, here.offers, await position(user)], [2, [], 2]);
  }
});

test('an element without its length goes there when it knows it', async () => {
  await stored('8', 300);
  const media = new Media();
  media.load('one.mp4');
  const here = resumed(await stage.online('8'), CONTENT, media);
  await until('the answer', () => !here.playback.asks);
  assert.equal(media.currentTime, 0);
  media.loaded();
  assert.equal(media.currentTime, 300);
  media.load('two.mp4');
  media.loaded();
  assert.equal(media.currentTime, 300, 'what was set before the first beat was only a part of the start');
  media.play();
  media.advance(1);
  await answered(here);
  assert.equal(await position('8'), 301);
});

test('an element that is shorter than the position is not what is resumed yet', async () => {
  await stored('17', 300);
  const media = new Media();
  media.loaded(15);
  const here = resumed(await stage.online('17'), CONTENT, media);
  media.play();
  media.advance(2);
  await until('the answer', () => !here.playback.asks);
  media.advance(2);
  assert.deepEqual([media.currentTime, here.client.seen.beat], [4, []]);
  media.load('the content.mp4');
  media.loaded(600);
  assert.equal(media.currentTime, 300);
});

test('what an earlier page could not send is newer than what is stored', async () => {
  await stored('9', 249);
  const storage = new MemoryStorage();
  const first = stage.client('9', { storage });
  const media = new Media();
  first.play(media, CONTENT);
  media.play();
  media.seek(275);
  media.advance(1);
  media.pause();
  const here = resumed(stage.client('9', { storage }));
  here.client.connect();
  await here.playback.place;
  assert.deepEqual([here.media.currentTime, here.offers], [276, []]);
});

test('what an earlier page held back is where the viewer was; what is stored is offered', async () => {
  await stored('10', 300);
  const storage = new MemoryStorage();
  const first = resumed(stage.client('10', { storage }));
  first.media.play();
  for (let second = 0; second < 40; second++) first.media.advance(1);
  first.media.pause();
  const here = resumed(stage.client('10', { storage }));
  assert.ok(here.client.unanswered > 0);
  here.client.connect();
  await here.playback.place;
  assert.equal(here.media.currentTime, 40);
  assert.deepEqual(here.offers.map(({ pos }) => pos), [300_000]);
  await answered(here);
  assert.equal(await position('10'), 40);
});

test('what an earlier page could not send is finished, or has hardly begun, as it would be for the gateway', async () => {
  for (const [user, seconds, wanted] of [['18', 570, 0], ['19', 20, 0], ['20', 40, 40]]) {
    const storage = new MemoryStorage();
    const first = stage.client(user, { storage });
    const media = new Media();
    first.play(media, CONTENT);
    media.play();
    media.advance(1);
    media.seek(seconds);
    const here = resumed(stage.client(user, { storage }));
    here.client.connect();
    assert.equal((await here.playback.place).pos, seconds * 1000);
    assert.equal(here.media.currentTime, wanted);
  }
});

test('beats resume where the gateway says that their records do', async () => {
  const beats = [];
  for (const kind of [1, 2, 3, 4]) {
    for (const dur of [undefined, 0, 1_001, 600_000, 7_200_000]) {
      for (const share of [0, 0.0245, 0.0255, 0.0499, 0.05, 0.0501, 0.5, 0.8999, 0.9, 0.9001, 1]) {
        const pos = Math.round(share * (dur || 600_000));
        const state = beats.length % 10 === 9 ? 'ended' : 'paused';
        beats.push({ kind, oid: String(beats.length), pos, dur, state, session: '7', watched: 1, at: Date.now() });
      }
    }
  }
  assert.deepEqual((await stage.ask('21', 'POST', '/v1/beats', { items: beats })).rejected, []);
  const { records } = await stage.ask('21', 'POST', '/v1/history/get', { items: beats.map(({ kind, oid }) => ({ kind, oid })) });
  assert.deepEqual(beats.map(resumeOf), records.map(({ resume }) => resume));
});

test('a start that was left before the position was known is forgotten', async () => {
  await stored('11', 300);
  const storage = new MemoryStorage();
  const first = resumed(stage.client('11', { storage }));
  first.media.play();
  first.media.advance(4);
  first.client.close();
  const here = resumed(await stage.online('11', { storage }));
  await here.playback.place;
  assert.equal(here.media.currentTime, 300);
});

test('what was held for a playback that is over is sent if nothing is lost by it', async () => {
  await stored('12', 300);
  const storage = new MemoryStorage();
  const away = stage.client('12', { storage });
  for (const [oid, second] of [['100', 30], ['200', 30], ['300', 500]]) {
    const { media, playback } = resumed(away, { kind: 1, oid });
    media.play();
    media.seek(second);
    media.advance(1);
    playback.stop();
  }
  await stored('12', 300, { oid: '300' });
  const client = await stage.online('12', { storage });
  await until('all acks but those of one', () => client.unanswered === 2);
  assert.deepEqual((await stage.stored('12', '100', '200', '300')).map(({ pos }) => pos), [300_000, 31_000, 501_000]);
  const here = resumed(client);
  await here.playback.place;
  assert.deepEqual([here.media.currentTime, here.offers.map(({ pos }) => pos)], [31, [300_000]]);
});

// The first answer to `get` is one of a gateway that cannot read its history just now.
class Partial extends WebSocket {
  #cut = false;

  set onmessage(act) {
    super.onmessage = (event) => {
      const first = event.data.includes('"records"') && !this.#cut;
      if (!first) return act(event);
      this.#cut = true;
      const { result } = JSON.parse(event.data);
      return act({ data: JSON.stringify({ result: { ...result, records: [null], partial: true } }) });
    };
  }
}

test('a missing record in a partial answer is no answer', async () => {
  await stored('13', 300);
  const here = resumed(await stage.online('13', { WebSocket: Partial }));
  here.media.play();
  here.media.advance(1);
  await here.playback.place;
  assert.equal(here.media.currentTime, 300);
  assert.equal(sent(here.client, 'get').length, 2);
});

test('a second source of the same content is resumed where the first one was left', async () => {
  const client = await stage.online('14');
  const first = resumed(client);
  await first.playback.place;
  first.media.play();
  first.media.seek(100);
  first.media.advance(1);
  first.playback.stop();
  const here = resumed(client);
  await here.playback.place;
  assert.equal(here.media.currentTime, 101);
});

test('the connection is lost before the answer: it is asked again', async () => {
  await stored('15', 300);
  const client = stage.client('15');
  const here = resumed(client);
  client.connect();
  client.disconnect();
  client.connect();
  await here.playback.place;
  assert.equal(here.media.currentTime, 300);
});

test('onOffer must be a function', () => {
  assert.throws(() => stage.client('16').resume(new Media(), CONTENT, { onOffer: 5 }), /^TypeError: onOffer must be a function/);
});
