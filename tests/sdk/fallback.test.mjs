// A network that lets no socket through, and a real gateway behind it: HTTP takes the socket's place.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Media } from './media.mjs';
import { Stage, token, until } from './stage.mjs';

const CONTENT = { kind: 1, oid: '100' };
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// Sockets that never open, until they are let through.
function blocked() {
  const network = { through: false, sockets: 0 };
  network.Socket = function Socket(url, protocols) {
    network.sockets += 1;
    if (network.through) return new WebSocket(url, protocols);
    const socket = { send() {}, close() {} };
    setTimeout(() => socket.onclose?.({ code: 1006, reason: '' }));
    return socket;
  };
  return network;
}

// A client on such a network, with the requests that it makes.
function client(user, options = {}) {
  const network = blocked();
  const requests = [];
  const made = stage.client(user, {
    WebSocket: network.Socket,
    fetch: async (url, request = {}) => {
      requests.push({ path: new URL(url).pathname, ...request });
      if (network.away) throw new TypeError('fetch failed');
      return fetch(url, request);
    },
    ...options,
  });
  made.transports = [];
  made.addEventListener('transport', ({ detail }) => made.transports.push(detail.transport));
  made.connect();
  return { client: made, network, requests };
}

const posts = (requests) => requests.filter(({ path }) => path === '/v1/beats');

function played(client) {
  const media = new Media();
  const playback = client.play(media, CONTENT);
  media.play();
  media.advance(2);
  return { media, playback };
}

test('beats go by HTTP, and back to a socket as soon as one opens', async () => {
  const { client: here, network, requests } = client('1');
  const { media } = played(here);
  await until('the answer', () => here.unanswered === 0);
  assert.ok(network.sockets >= 3);
  assert.equal((await stage.stored('1', '100'))[0].pos, 2_000);
  assert.deepEqual([here.transport, here.transports], ['http', ['http']]);
  assert.ok(posts(requests).every(({ keepalive }) => !keepalive));
  network.through = true;
  here.connect();
  await until('online', () => here.state === 'online');
  const before = posts(requests).length;
  media.advance(3);
  media.pause();
  await until('the ack', () => here.unanswered === 0);
  assert.equal((await stage.stored('1', '100'))[0].pos, 5_000);
  assert.deepEqual([here.transport, here.transports, posts(requests).length], ['socket', ['http', 'socket'], before]);
});

test('a content is resumed by HTTP, with the times of the server', async () => {
  const at = Date.now() - 5_000;
  const beat = { ...CONTENT, pos: 300_000, dur: 600_000, state: 'paused', session: '7', watched: 1, at };
  await stage.ask('2', 'POST', '/v1/beats', { items: [beat] });
  const { client: here } = client('2');
  const media = new Media();
  const playback = here.resume(media, CONTENT);
  const record = await playback.place;
  assert.deepEqual([record.pos, media.currentTime], [300_000, 300]);
  media.play();
  media.advance(1);
  assert.ok(Math.abs(here.seen.beat.at(-1).beat.at - Date.now()) < 60_000);
  media.pause();
  await until('the answer', () => here.unanswered === 0);
  assert.equal((await stage.stored('2', '100'))[0].pos, 301_000);
  assert.deepEqual(here.seen.rejected, []);
});

test('all requests are answered by HTTP', async () => {
  const { client: here } = client('3');
  const timeout = 60_000;
  assert.deepEqual(await here.get(CONTENT, { timeout }), [null]);
  here.markWatched(CONTENT, 300_000);
  here.markWatched({ kind: 2, oid: '5' }, 0);
  await until('the answers', () => here.unanswered === 0);
  assert.deepEqual((await here.list({ kinds: [1, 3], limit: 5, finished: true, timeout })).records.map(({ oid }) => oid), ['100']);
  assert.deepEqual(await here.pauseRecording({ timeout }), { paused: true });
  assert.deepEqual(await here.resumeRecording({ timeout }), { paused: false });
  await here.delete([CONTENT], { timeout });
  assert.equal((await stage.stored('3', '100', '5'))[0], null);
  await here.clear({ timeout });
  assert.deepEqual((await here.list({ timeout })).records, []);
  await assert.rejects(here.list({ cursor: 'none of mine', timeout }), { code: 'invalid' });
});

test('another device that goes on is told by the answer', async () => {
  const { client: here } = client('4');
  const { media } = played(here);
  await until('the answer', () => here.unanswered === 0);
  const beat = { ...CONTENT, pos: 300_000, state: 'playing', session: '7', watched: 1, at: Date.now() + 4_000 };
  await stage.ask('4', 'POST', '/v1/beats', { items: [beat] });
  media.advance(1);
  media.pause();
  media.play();
  await until('elsewhere', () => here.seen.elsewhere.length === 1);
});

test('a token that has expired is asked for anew', async () => {
  const asked = [];
  const getToken = async ({ refused }) => {
    asked.push(refused);
    return token('5', asked.includes(true) ? {} : { exp: Math.floor(Date.now() / 1000) - 60 });
  };
  const { client: here } = client('5', { getToken });
  played(here);
  await until('the answer', () => here.unanswered === 0);
  assert.ok(asked.includes(true));
});

test('where HTTP does not work either, nothing is lost, and little is tried', async () => {
  const { client: here, network, requests } = client('6');
  network.away = true;
  played(here);
  await until('a request', () => posts(requests).length > 0);
  await until('more attempts', () => network.sockets >= 5);
  assert.deepEqual([here.unanswered, here.transport, posts(requests).length], [1, 'socket', 1]);
  here.disconnect();
});

// A page around the client. `hides` as when it is put aside, `shows` it again, `leaves` it for good.
function page() {
  const document = Object.assign(new EventTarget(), { hidden: false });
  const window = new EventTarget();
  Object.assign(globalThis, { document, window });
  const turn = (hidden) => {
    document.hidden = hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  };
  return {
    hides: () => turn(true),
    shows: () => turn(false),
    leaves: () => window.dispatchEvent(new Event('pagehide')),
    forget: () => ['document', 'window'].forEach((name) => delete globalThis[name]),
  };
}

test('a page that is hidden or left sends its last beat at once, in a request that outlives it', async () => {
  const around = page();
  try {
    const { client: here, requests } = client('8');
    const { media } = played(here);
    await until('the answer', () => here.unanswered === 0);
    for (const [end, pos] of [['hides', 5_000], ['leaves', 8_000]]) {
      around.shows();
      media.advance(3);
      const before = posts(requests).length;
      around[end]();
      const [last, ...more] = posts(requests).slice(before);
      assert.deepEqual([last.keepalive, last.method, more], [true, 'POST', []]);
      assert.deepEqual(JSON.parse(last.body).items.map((beat) => [beat.pos, beat.state]), [[pos, 'playing']]);
      await until('the answer', () => here.unanswered === 0);
      assert.equal((await stage.stored('8', '100'))[0].pos, pos);
    }
    assert.equal(here.transport, 'http');
  } finally {
    around.forget();
  }
});

test('without fallback only the socket is tried', async () => {
  const { client: here, network, requests } = client('7', { fallback: false });
  played(here);
  await until('attempts', () => network.sockets >= 5);
  assert.deepEqual([posts(requests).length, here.unanswered], [0, 1]);
});
