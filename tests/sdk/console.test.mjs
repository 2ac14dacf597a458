// What the SDK writes to the console, and what an application's own mistakes cost.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { after, before, mock, test } from 'node:test';
import { Heartline } from '../../web-demo/client/heartline.js';
import { Media } from './media.mjs';
import { PATIENCE_MS, Stage, token, until } from './stage.mjs';

const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// A client without listeners, whose token is of another user: that is a fault.
async function atFault(listen) {
  const client = new Heartline({ user: '1', getToken: async () => token('2'), url: stage.gateway.url, storage: null });
  if (listen) client.addEventListener('fault', listen);
  const written = mock.method(console, 'error', () => {});
  client.connect();
  await until('stopped', () => client.state === 'stopped');
  written.mock.restore();
  client.close();
  return written.mock.calls.map((call) => call.arguments.join(' '));
}

test('a fault is written to the console, unless a listener prevents it', async () => {
  const message = 'heartline: the token is of user 2, not of 1';
  assert.deepEqual(await atFault(), [message]);
  assert.deepEqual(await atFault(() => {}), [message]);
  assert.deepEqual(await atFault((event) => event.preventDefault()), []);
});

test('debug writes states and frames, and no token', async () => {
  for (const auth of ['subprotocol', 'hello']) {
    const written = mock.method(console, 'debug', () => {});
    const client = await stage.online('3', { debug: true, auth });
    const media = new Media();
    client.play(media, { kind: 1, oid: '100' });
    media.play();
    media.advance(1);
    await until('the ack', () => client.unanswered === 0);
    client.disconnect();
    written.mock.restore();
    const lines = written.mock.calls.map((call) => JSON.stringify(call.arguments));
    for (const wanted of [/"state":"online"/, /"kind":"welcome"/, /"kind":"beats".*"oid":"100"/, /"kind":"ack"/]) {
      assert.ok(lines.some((line) => wanted.test(line)), `${wanted} in ${lines}`);
    }
    for (const line of lines) assert.ok(!line.includes(token('3').slice(0, 20)), line);
  }
});

test('without debug nothing is written', async () => {
  const written = mock.method(console, 'debug', () => {});
  await stage.online('4');
  written.mock.restore();
  assert.equal(written.mock.callCount(), 0);
});

test('a token that no socket can carry is a fault, and is not quoted', async () => {
  const secret = 'a token with spaces';
  const client = stage.client('5', { getToken: async () => secret });
  client.connect();
  await until('an attempt', () => client.seen.fault.length > 0);
  client.disconnect();
  assert.match(client.seen.fault[0].message, /^cannot connect: /);
  assert.ok(!JSON.stringify([client.seen.fault, client.seen.state]).includes(secret));
});

test('getToken must return a text', async () => {
  const client = stage.client('6', { getToken: async () => undefined });
  client.connect();
  await until('an attempt', () => client.seen.state.some(({ state }) => state === 'waiting'));
  client.disconnect();
  assert.equal(client.seen.fault[0].message, 'getToken must return a token, as a string');
});

test('a listener that throws breaks nothing', async () => {
  const script = fileURLToPath(new URL('throwing_listeners.mjs', import.meta.url));
  const command = [...process.execArgv, script, stage.gateway.url, token('8')];
  const { stdout } = await promisify(execFile)(process.execPath, command, { timeout: PATIENCE_MS });
  const { thrown, stored } = JSON.parse(stdout);
  assert.ok(thrown > 5, `${thrown} listeners have thrown`);
  assert.equal(stored, 2_000);
});
