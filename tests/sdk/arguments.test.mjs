// What the application passes in is checked at once, and never costs another content its position.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Heartline } from '../../web-demo/client/heartline.js';
import { isWelcomeOf } from '../../web-demo/client/heartline/arguments.js';
import { Requests } from '../../web-demo/client/heartline/requests.js';
import { Media } from './media.mjs';
import { Stage, sent, token, until } from './stage.mjs';

const BAD_OIDS = [
  '', 'abc', '-1', '1.5', ' 1', '18446744073709551616',
  -1, 1.5, NaN, 2 ** 53, 2 ** 64, -1n, 2n ** 64n, null, undefined, {},
];
const BAD_KINDS = [-1, 65_536, 1.5, '1', 1n, null, undefined];
const BAD_CONTENTS = [
  ...BAD_OIDS.map((oid) => ({ kind: 1, oid })),
  ...BAD_KINDS.map((kind) => ({ kind, oid: '1' })),
  null, undefined, 'abc', 5,
];

const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

test('a bad content is refused at once, nothing is sent, and other positions are stored', async () => {
  const client = await stage.online('1');
  const good = new Media();
  client.play(good, { kind: 1, oid: 100 });
  for (const content of BAD_CONTENTS) {
    assert.throws(() => client.play(new Media(), content), TypeError);
    await assert.rejects(client.get([content]), TypeError);
    await assert.rejects(client.get([{ kind: 1, oid: '1' }, content]), TypeError);
    await assert.rejects(client.delete([content]), TypeError);
  }
  assert.throws(() => client.play(null, { kind: 1, oid: '1' }), /media must be a media element; got object null/);
  good.play();
  good.advance(3);
  good.pause();
  await until('the acks', () => client.unanswered === 0);
  assert.equal((await stage.stored('1', '100'))[0].pos, 3_000);
  assert.deepEqual([sent(client, 'get').length, sent(client, 'delete').length], [0, 0]);
  assert.deepEqual([client.state, client.seen.rejected, client.seen.fault], ['online', [], []]);
});

test('the message says which argument is wrong, and why', () => {
  const client = stage.client('2');
  const play = (content) => client.play(new Media(), content);
  assert.throws(() => play({ kind: 1, oid: 'abc' }), /^TypeError: oid must be an id from 0 to 2\^64-1.*got "abc"$/);
  assert.throws(() => play({ kind: 70_000, oid: '1' }), /^TypeError: kind must be .* 65535; got number 70000$/);
});

test('a bad content does not unbind what plays', async () => {
  const client = await stage.online('3');
  const media = new Media();
  client.play(media, { kind: 1, oid: '100' });
  assert.throws(() => client.play(media, { kind: 1, oid: 'abc' }), TypeError);
  media.play();
  media.advance(1);
  await until('a beat', () => client.seen.beat.length === 1);
});

test('ids of all 64 bits are stored as they are', async () => {
  const client = await stage.online(2n ** 64n - 1n);
  const oids = ['18446744073709551615', 18_446_744_073_709_551_614n, Number.MAX_SAFE_INTEGER, '007'];
  for (const oid of oids) {
    const media = new Media();
    client.play(media, { kind: 65_535, oid });
    media.play();
    media.advance(1);
  }
  await until('the acks', () => client.unanswered === 0);
  const records = await client.get(oids.map((oid) => ({ kind: 65_535, oid })));
  const wanted = ['18446744073709551615', '18446744073709551614', '9007199254740991', '7'];
  assert.deepEqual(records.map((record) => record?.oid), wanted);
});

test('a user must be an id or a name', () => {
  const rest = { url: 'http://localhost', storage: null };
  const make = (user) => new Heartline({ user, getToken: async () => token('1'), ...rest });
  const bad = ['', 'n'.repeat(257), 'é'.repeat(129), 1.5, -1, 2 ** 53, -1n, 2n ** 64n, null, undefined, {}];
  for (const user of bad) assert.throws(() => make(user), /^TypeError: user must be an id/, String(user));
  for (const user of ['042', 42, 2n ** 64n - 1n, 'auth0|6405', 'n'.repeat(256), '🎬']) make(user);
  assert.throws(() => new Heartline({ user: '1', ...rest }), /getToken must be a function/);
});

test('a welcome is of the user that it names', () => {
  for (const user of ['42', '042']) assert.ok(isWelcomeOf({ mid: '42' }, user));
  for (const user of ['43', 'ann']) assert.ok(!isWelcomeOf({ mid: '42' }, user));
  assert.ok(isWelcomeOf({ mid: '1', sub: 'ann' }, 'ann') && isWelcomeOf({ mid: '1', sub: '042' }, '042'));
  for (const user of ['1', 'Ann', 'ann ']) assert.ok(!isWelcomeOf({ mid: '1', sub: 'ann' }, user), user);
});

test('a single content is a list of one, also before the welcome', async () => {
  const client = stage.client('4');
  client.connect();
  const early = client.get({ kind: 1, oid: '100' });
  await until('online', () => client.state === 'online');
  assert.deepEqual(await early, [null]);
  await client.delete({ kind: 1, oid: '100' });
});

test('no content is no request, and too many are refused before they are sent', async () => {
  const client = await stage.online('5');
  assert.deepEqual(await client.get([]), []);
  assert.equal(await client.delete([]), undefined);
  const many = Array.from({ length: 501 }, (_, oid) => ({ kind: 1, oid }));
  await assert.rejects(client.get(many), { code: 'too_many' });
  assert.deepEqual([sent(client, 'get').length, sent(client, 'delete').length], [0, 0]);
});

test('the arguments of list are checked', async () => {
  const client = await stage.online('6');
  const bad = [
    { limit: 0 }, { limit: 1.5 }, { limit: '5' }, { limit: NaN }, { cursor: '' }, { cursor: 5 },
    { cursor: 'x'.repeat(257) }, { kinds: ['1'] }, { kinds: [65_536] }, { kinds: Array(33).fill(1) },
  ];
  for (const page of bad) await assert.rejects(client.list(page), TypeError, JSON.stringify(page));
  assert.equal(sent(client, 'list').length, 0);
  for (const page of [{}, { limit: 5, kinds: [1, 2] }, { kinds: 1, cursor: null }]) {
    assert.deepEqual((await client.list(page)).records, []);
  }
});

test('a request that cannot be encoded is refused, and holds up no other', async () => {
  const sent = [];
  const connection = {
    state: 'connecting',
    take: () => connection.state === 'online',
    send: (operation, body) => sent.push([operation, JSON.stringify(body)]),
  };
  const requests = new Requests(connection);
  const failed = [
    requests.ask('get', () => { throw new RangeError('no body'); }),
    requests.ask('get', () => ({ items: [1n] })),
  ];
  const asked = requests.ask('list', () => ({}));
  connection.state = 'online';
  requests.pump();
  await assert.rejects(failed[0], RangeError);
  await assert.rejects(failed[1], TypeError);
  assert.deepEqual(sent, [['list', '{}']]);
  requests.resolve({ seq: 1, records: [] });
  assert.deepEqual(await asked, { records: [] });
});

test('requests that the gateway refuses one after the other do not end the client', async () => {
  const client = await stage.online('7');
  for (let time = 0; time < 5; time++) {
    await assert.rejects(client.list({ cursor: 'none of mine' }), { code: 'invalid' });
  }
  assert.deepEqual(await client.get({ kind: 1, oid: '1' }), [null]);
  assert.equal(sent(client, 'hello').length, 6);
  assert.equal(client.seen.state.length, 2, 'connecting, online');
});

test('recording is paused and resumed', async () => {
  const client = await stage.online('8');
  const other = await stage.online('8');
  assert.deepEqual(await client.pauseRecording(), { paused: true });
  assert.deepEqual(await client.resumeRecording({ timeout: 60_000 }), { paused: false });
  await until('both pushes', () => other.seen.recording.length === 2);
  assert.deepEqual(other.seen.recording, [{ paused: true }, { paused: false }]);
});
