// A client that waits for its next attempt to connect, and is told to make it now.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Stage, until } from './stage.mjs';

// What the gateway asks for before it goes.
const WAIT_MS = 60_000;
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// The first socket is told to come again much later; those after it are real, and counted.
function sentAway(made) {
  return function Socket(url, protocols) {
    if (made.push(url) > 1) return new WebSocket(url, protocols);
    const socket = { send() {}, close() {} };
    setTimeout(() => {
      socket.onmessage({ data: JSON.stringify({ bye: { reason: 'drain', reconnect_after: WAIT_MS } }) });
      socket.onclose({ code: 1012, reason: 'drain' });
    });
    return socket;
  };
}

test('connect makes the next attempt at once, and only one', async () => {
  const made = [];
  const client = stage.client('1', { WebSocket: sentAway(made) });
  client.connect();
  await until('waiting', () => client.state === 'waiting');
  assert.equal(client.seen.state.at(-1).delay, WAIT_MS);
  const began = performance.now();
  client.connect();
  assert.equal(client.state, 'connecting');
  client.connect();
  await until('online', () => client.state === 'online');
  client.connect();
  assert.ok(performance.now() - began < WAIT_MS / 2);
  assert.deepEqual(client.seen.state.map(({ state }) => state), ['connecting', 'waiting', 'connecting', 'online']);
  assert.equal(made.length, 2);
});
