// Close code 4001: what the client shows, and when it tries again. Where the reason matters, a socket made here closes with it;
// the other refusals are a real gateway's.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Media } from './media.mjs';
import { Stage, token, until } from './stage.mjs';

const ANOTHER_KEY = 'another-key-that-is-long-enough-for-hs256';
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// Sockets that close at once, each with a code and a reason; those after them are real.
function closing(...closes) {
  return function Socket(url, protocols) {
    if (closes.length === 0) return new WebSocket(url, protocols);
    const [code, reason] = closes.shift();
    const socket = { send() {}, close() {} };
    setTimeout(() => socket.onclose({ code, reason }));
    return socket;
  };
}

// A client that counts what it asks for, with tokens that differ from each other.
function counting(user, options) {
  const asked = [];
  const getToken = async (why) => {
    asked.push(why.refused);
    return token(user, { jti: String(asked.length) });
  };
  const client = stage.client(user, { getToken, ...options });
  client.connect();
  return { client, asked };
}

const last = (list) => list.at(-1);

// Until it waits once more; how long.
async function waits(client, times) {
  const found = () => client.seen.state.filter(({ state }) => state === 'waiting');
  await until(`wait ${times}`, () => found().length >= times);
  return found()[times - 1].delay;
}

// The waits of so many attempts, none of which is waited for.
async function delays(client, count) {
  const found = [];
  for (let times = 1; times <= count; times++) {
    found.push(await waits(client, times));
    client.connect();
  }
  client.disconnect();
  return found;
}

test('a token that a gateway refuses: the same again is not tried, and another one is asked for later', async () => {
  const asked = [];
  const sockets = [];
  const bad = token('1', { key: ANOTHER_KEY });
  const getToken = async ({ refused }) => {
    asked.push(refused);
    return bad;
  };
  class Counted extends WebSocket {
    constructor(...parameters) {
      super(...parameters);
      sockets.push(parameters);
    }
  }
  const client = stage.client('1', { getToken, WebSocket: Counted });
  client.connect();
  const [first, ...later] = await delays(client, 5);
  assert.ok(first <= 500);
  assert.deepEqual(later, [5_000, 30_000, 60_000, 60_000]);
  assert.deepEqual([asked.slice(0, 5), sockets.length], [[false, true, true, true, true], 1]);
  const { code, reason } = client.seen.state.find(({ state }) => state === 'waiting');
  assert.equal(code, 4001);
  assert.ok(reason);
  assert.deepEqual(client.seen.fault.map(({ message }) => message), [
    `the gateway refused the token: ${reason}`,
    'getToken returned the refused token again',
  ]);
});

test('new tokens that a gateway refuses for the same reason are tried less often, and told once', async () => {
  const asked = [];
  const getToken = async () => token('2', { key: ANOTHER_KEY, jti: String(asked.push(1)) });
  const client = stage.client('2', { getToken });
  client.connect();
  assert.deepEqual((await delays(client, 4)).slice(1), [5_000, 30_000, 60_000]);
  assert.ok(asked.length >= 4);
  assert.equal(client.seen.fault.length, 1);
});

test('a viewer who acts has it tried at once, though not more often than each second', async () => {
  const { client, asked } = counting('10', { WebSocket: closing(...Array(2).fill([4001, 'bad signature'])) });
  assert.equal(await waits(client, 2), 5_000);
  const media = new Media();
  client.play(media, { kind: 1, oid: '1' });
  const began = performance.now();
  for (let time = 0; time < 20; time++) media.seek(time);
  await until('online', () => client.state === 'online');
  assert.ok(performance.now() - began < 4_000);
  assert.equal(asked.length, 3);
});

test('a refused token is replaced once, and the new one is accepted', async () => {
  const { client, asked } = counting('3', { WebSocket: closing([4001, 'bad signature']) });
  await until('online', () => client.state === 'online');
  assert.deepEqual(asked, [false, true]);
  const waiting = client.seen.state.find(({ state }) => state === 'waiting');
  assert.deepEqual([waiting.code, waiting.reason], [4001, 'bad signature']);
  assert.ok(waiting.delay <= 500);
});

test('another reason is a first refusal', async () => {
  const reasons = ['bad signature', 'sub is not a decimal number', 'sub is not a decimal number'];
  const closes = reasons.map((reason) => [4001, reason]);
  const { client, asked } = counting('4', { WebSocket: closing(...closes) });
  assert.equal(await waits(client, 3), 5_000);
  assert.deepEqual(asked, [false, true, true]);
  assert.equal(last(client.seen.state).reason, 'sub is not a decimal number');
  assert.equal(client.seen.fault.length, 2);
});

for (const reason of ['kid unknown', 'the token is not valid yet', 'no hello in time', '']) {
  test(`"${reason}" may pass: the client goes on, also with the same token`, async () => {
    const same = token('5');
    const closes = Array(3).fill([4001, reason]);
    const client = stage.client('5', { getToken: async () => same, WebSocket: closing(...closes) });
    client.connect();
    await until('online', () => client.state === 'online');
    const waits = client.seen.state.filter(({ state }) => state === 'waiting');
    assert.equal(waits.length, 3);
    assert.equal(client.seen.fault.length, 1, 'told once');
  });
}

test('an expired token is replaced, as often as it expires', async () => {
  const { client, asked } = counting('6', { WebSocket: closing([4002, 'token expired'], [4002, 'token expired']) });
  await until('online', () => client.state === 'online');
  assert.deepEqual(asked, [false, true, true]);
  assert.deepEqual(client.seen.fault, []);
});

test('an expired token that comes again is a fault, but tried', async () => {
  const same = token('7');
  const client = stage.client('7', { getToken: async () => same, WebSocket: closing([4002, 'token expired']) });
  client.connect();
  await until('online', () => client.state === 'online');
  assert.deepEqual(client.seen.fault, [{ message: 'getToken returned the expired token again' }]);
});

test('a client whose tokens were refused is connected by hand, too', async () => {
  const closes = [[4001, 'bad signature'], [4001, 'bad signature']];
  const { client, asked } = counting('8', { WebSocket: closing(...closes) });
  await waits(client, 2);
  client.connect();
  await until('online', () => client.state === 'online');
  assert.deepEqual(asked, [false, true, true]);
});

test('other codes that are final are faults', async () => {
  const { client } = counting('9', { WebSocket: closing([4000, 'three invalid frames in a row']) });
  await until('stopped', () => client.state === 'stopped');
  const message = 'stopped: the gateway closed with 4000 (three invalid frames in a row)';
  assert.deepEqual(client.seen.fault, [{ message }]);
});
