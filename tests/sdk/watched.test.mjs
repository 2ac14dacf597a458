// What is marked as watched, and lists of what is finished or not.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Media } from './media.mjs';
import { Stage, sent, until, untilPast } from './stage.mjs';
import { MemoryStorage } from './storage.mjs';

const CONTENT = { kind: 1, oid: '100' };
const DUR = 300_000;
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

async function answered(client) {
  await until('all answers', () => client.state === 'online' && client.unanswered === 0);
}

function beat(oid, at, rest = {}) {
  return { kind: 1, oid, pos: 60_000, dur: DUR, state: 'paused', session: '1', watched: 1, at, ...rest };
}

async function store(user, items) {
  const { rejected } = await stage.ask(user, 'POST', '/v1/beats', { items });
  assert.deepEqual(rejected, []);
}

const oids = ({ records }) => records.map(({ oid }) => oid);

test('a mark is stored as the end of the content, and the next list shows it', async () => {
  const now = Date.now();
  await store('1', [beat('100', now - 2_000), beat('200', now - 1_000)]);
  const client = await stage.online('1');
  assert.deepEqual(oids(await client.list({ finished: false })), ['200', '100']);
  client.markWatched(CONTENT, DUR);
  assert.deepEqual(oids(await client.list({ finished: false })), ['200']);
  const page = await client.list({ finished: true });
  const [{ pos, dur, state, watched, finished, resume }] = page.records;
  assert.deepEqual(oids(page), ['100']);
  assert.deepEqual({ pos, dur, state, watched, finished, resume }, { pos: DUR, dur: DUR, state: 'ended', watched: 1, finished: true, resume: 0 });
  assert.deepEqual(client.seen.rejected, []);
  const { rewards } = await stage.ask('1', 'GET', '/v1/rewards/today');
  assert.deepEqual(rewards, [], 'nothing was watched');
});

test('a mark is newer than what the user sees, also where another device is ahead', async () => {
  const client = await stage.online('2');
  await store('2', [beat('100', Date.now() + 4_000)]);
  await client.get(CONTENT);
  client.markWatched(CONTENT, DUR);
  client.markWatched(CONTENT, DUR);
  await answered(client);
  assert.deepEqual(client.seen.rejected, []);
  assert.equal((await stage.stored('2', '100'))[0].state, 'ended');
});

test('a mark that was made offline is kept beyond a reload', async () => {
  const storage = new MemoryStorage();
  const first = stage.client('3', { storage });
  first.markWatched(CONTENT, DUR);
  assert.equal(first.unanswered, 1);
  const second = await stage.online('3', { storage });
  await answered(second);
  assert.equal((await stage.stored('3', '100'))[0].finished, true);
});

test('a content without a length is marked, too', async () => {
  const client = await stage.online('4');
  client.markWatched({ kind: 3, oid: 7 }, 0);
  await answered(client);
  const { records: [record] } = await client.list({ kinds: 3, finished: true });
  assert.deepEqual([record.oid, record.pos, record.progress], ['7', 0, undefined]);
});

test('each mark is a session of its own, and no other device took it over', async () => {
  const client = await stage.online('5');
  const media = new Media();
  client.play(media, { kind: 1, oid: '200' });
  media.play();
  media.advance(1);
  client.markWatched(CONTENT, DUR);
  client.markWatched({ kind: 1, oid: '200' }, DUR);
  await answered(client);
  const sessions = client.seen.beat.map(({ beat: { session } }) => session);
  assert.equal(new Set(sessions).size, 3);
  await untilPast(client, client.seen.beat.at(-1).beat.at);
  media.advance(6);
  media.pause();
  await answered(client);
  const [marked, played] = await stage.stored('5', '100', '200');
  assert.deepEqual([marked.state, played.state], ['ended', 'paused'], 'what plays replaces its mark');
  assert.deepEqual(client.seen.elsewhere, []);
});

test('a bad argument is refused at once, and nothing is sent', async () => {
  const client = await stage.online('6');
  for (const dur of [undefined, null, NaN, Infinity, -1, 1.5, '300000', 300_000n, 2 ** 53]) {
    assert.throws(() => client.markWatched(CONTENT, dur), /^TypeError: dur must be a whole number of milliseconds/, String(dur));
  }
  assert.throws(() => client.markWatched({ kind: 1, oid: 'abc' }, DUR), /^TypeError: oid must be an id/);
  assert.throws(() => client.markWatched(null, DUR), TypeError);
  for (const finished of [0, 1, 'true', 'false', {}]) {
    await assert.rejects(client.list({ finished }), /^TypeError: finished must be true or false/, String(finished));
  }
  assert.deepEqual([client.unanswered, sent(client, 'beats').length, sent(client, 'list').length], [0, 0, 0]);
  assert.deepEqual((await client.list({ finished: null })).records, []);
});
