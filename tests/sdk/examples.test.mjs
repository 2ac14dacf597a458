// The examples of docs/clients.md, as they stand there, against a real gateway.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Media } from './media.mjs';
import { Stage, token, until } from './stage.mjs';

const CLIENTS = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8');
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// The JavaScript of a section, one text for each block.
function examples(heading) {
  const [, section] = CLIENTS.split(`\n## ${heading}\n`);
  assert.ok(section, `docs/clients.md has a section "${heading}"`);
  const [own] = section.split('\n## ');
  return [...own.matchAll(/^```js\n(.*?)^```$/gms)].map(([, text]) => text);
}

// Runs an example with these values under their names, and returns what is asked for.
function run(example, values, result) {
  const AsyncFunction = (async () => {}).constructor;
  return new AsyncFunction(...Object.keys(values), `${example}\nreturn ${result};`)(...Object.values(values));
}

const oids = (records) => records.map(({ oid }) => oid);

function beat(oid, at, rest = {}) {
  return { kind: 1, oid: String(oid), pos: 60_000, dur: 300_000, state: 'paused', session: '1', watched: 1, at, ...rest };
}

test('continue watching', async () => {
  const at = Date.now() - 10_000;
  const items = Array.from({ length: 60 }, (_, oid) => beat(oid, at - oid, { state: oid % 3 ? 'ended' : 'paused' }));
  await stage.ask('1', 'POST', '/v1/beats', { items });
  const [example] = examples('Continue watching');
  const continueWatching = await run(example, {}, 'continueWatching');
  const client = await stage.online('1');
  assert.deepEqual(oids(await continueWatching(client, 4)), ['0', '3', '6', '9']);
  assert.equal((await continueWatching(client, 100)).length, 20);
  // Pages may be short, or empty, while there is a cursor.
  const pages = [[], ['1', '2'], [], ['3']].map((page, index) => ({ records: page, cursor: index < 3 ? `${index}` : undefined }));
  const asked = [];
  const slow = { list: async ({ limit, cursor }) => { asked.push([limit, cursor]); return pages[asked.length - 1]; } };
  assert.deepEqual(await continueWatching(slow, 5), ['1', '2', '3']);
  assert.deepEqual(asked, [[5, undefined], [5, '0'], [3, '1'], [3, '2']]);
});

test('mark as watched', async () => {
  await stage.ask('2', 'POST', '/v1/beats', { items: [beat(100, Date.now() - 5_000), beat(200, Date.now() - 5_000)] });
  const [byHand, bySdk] = examples('Mark as watched');
  const made = await run(byHand, { clockOffset: 0 }, 'beat');
  assert.deepEqual((await stage.ask('2', 'POST', '/v1/beats', { items: [{ ...made, oid: '200' }] })).rejected, []);
  assert.equal((await stage.stored('2', '200'))[0].finished, true);
  const client = await stage.online('2');
  assert.deepEqual(await run(bySdk, { heartline: client }, 'records'), []);
  await until('the ack', () => client.unanswered === 0);
  assert.equal((await stage.stored('2', '100'))[0].finished, true);
});

test('old positions are imported once, however often, and replace nothing that is newer', async () => {
  const day = 86_400_000;
  const now = Date.now();
  await stage.ask('3', 'POST', '/v1/beats', { items: [beat(3, now - day)] });
  const positions = [
    { kind: 1, oid: '1', pos: 90_000, dur: 300_000, ended: false, savedAt: now - 30 * day },
    { kind: 1, oid: '2', pos: 300_000, dur: 300_000, ended: true, savedAt: now - 20 * day },
    { kind: 1, oid: '3', pos: 5_000, dur: 300_000, ended: false, savedAt: now - 10 * day },
    { kind: 1, oid: '4', pos: 5_000, dur: 300_000, ended: false, savedAt: now - 200 * day },
  ];
  const [example] = examples('Import old positions');
  const importPositions = await run(example, {}, 'importPositions');
  const watcher = await stage.online('3');
  for (let time = 0; time < 2; time++) {
    const rejected = await importPositions(stage.gateway.url, token('3'), '3', positions);
    assert.deepEqual(rejected.map(({ index, reason }) => [index, reason]), [[2, 'superseded'], [3, 'expired']]);
  }
  const [one, two, three, four] = await stage.stored('3', '1', '2', '3', '4');
  assert.deepEqual([one.pos, one.resume, one.at, one.finished], [90_000, 90_000, now - 30 * day, false]);
  assert.deepEqual([two.finished, three.pos, four], [true, 60_000, null]);
  assert.deepEqual(oids((await watcher.list()).records), ['3', '2', '1'], 'in the order in which they were watched');
  assert.equal(watcher.seen.record.length, 2, 'the second import changed nothing');
  assert.deepEqual((await stage.ask('3', 'GET', '/v1/rewards/today')).rewards, []);
  // Two users have different sessions.
  await importPositions(stage.gateway.url, token('4'), '4', positions.slice(0, 1));
  assert.notEqual((await stage.stored('4', '1'))[0].session, one.session);
});

test('advertisements by the IMA SDK', async () => {
  const [example] = examples('Advertisements, and other media in the element');
  const manager = new EventTarget();
  const types = { CONTENT_PAUSE_REQUESTED: 'contentPauseRequested', CONTENT_RESUME_REQUESTED: 'contentResumeRequested' };
  const google = { ima: { AdEvent: { Type: types } } };
  await stage.ask('5', 'POST', '/v1/beats', { items: [beat(100, Date.now() - 5_000, { pos: 200_000 })] });
  const client = await stage.online('5');
  const media = new Media();
  const playback = client.resume(media, { kind: 1, oid: '100' });
  (await run(example, { google }, 'followAds'))(playback, manager);
  manager.dispatchEvent(new Event(types.CONTENT_PAUSE_REQUESTED));
  media.loaded(15);
  media.play();
  media.advance(14);
  await until('the answer', () => !playback.asks);
  assert.deepEqual([media.currentTime, client.seen.beat], [14, []]);
  media.load('the content.mp4');
  manager.dispatchEvent(new Event(types.CONTENT_RESUME_REQUESTED));
  media.loaded(300);
  assert.equal(media.currentTime, 200);
  media.advance(1);
  assert.deepEqual(client.seen.beat.map(({ beat: { pos } }) => pos), [201_000]);
});

// An element of 4,200 pixels, of which 200 are seen.
class Article extends EventTarget {
  scrollHeight = 4_200;
  clientHeight = 200;
  textContent = 'word '.repeat(799).trim();
  #top = 0;

  get scrollTop() {
    return this.#top;
  }

  set scrollTop(top) {
    this.#top = top;
    this.dispatchEvent(new Event('scroll'));
  }
}

test('an article is resumed where its reader was', async () => {
  const [example] = examples('Readers and native players');
  const open = async (client) => {
    const article = new Article();
    const playback = await run(example, { article, heartline: client }, 'playback');
    await playback.place;
    return article;
  };
  const first = await stage.online('6');
  const article = await open(first);
  for (const top of [100, 400, 1_000]) article.scrollTop = top;
  first.close();
  article.scrollTop = 4_000;  // read to its end, where no client listens: nothing is waited for any more
  const [record] = await until('the position', async () => {
    const { records } = await stage.ask('6', 'POST', '/v1/history/get', { items: [{ kind: 3, oid: '7' }] });
    return records[0]?.pos > 40_000 && records;
  });
  assert.deepEqual([record.pos, record.dur, record.watched], [49_938, 199_750, 49_938]);
  const second = await stage.online('6');
  const again = await open(second);
  assert.equal(Math.round(again.scrollTop), 1_000);
  assert.deepEqual(second.seen.beat, []);
  again.scrollTop = 4_000;
  await until('the acks', () => second.unanswered === 0);
  const { records: [{ finished }] } = await stage.ask('6', 'POST', '/v1/history/get', { items: [{ kind: 3, oid: '7' }] });
  assert.equal(finished, true);
});
