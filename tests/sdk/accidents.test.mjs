// What ends a client elsewhere: a name that is too long, a token that cannot be had, an origin that is not allowed, a
// network that comes and goes. No gateway is needed.
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { Heartline } from '../../web-demo/client/heartline.js';
import { until } from './stage.mjs';

const clients = [];
afterEach(() => clients.splice(0).forEach((client) => client.close()));

function client(options) {
  const made = new Heartline({ user: '1', getToken: async () => 'token', url: 'http://gateway.test', storage: null, ...options });
  made.faults = [];
  made.states = [];
  made.addEventListener('state', ({ detail }) => made.states.push(detail));
  made.addEventListener('fault', (event) => {
    made.faults.push(event.detail.message);
    event.preventDefault();
  });
  clients.push(made);
  return made;
}

// Sockets that wait for what the test says, or, without a gateway, break at once.
function sockets({ away = false } = {}) {
  const made = [];
  class Socket {
    constructor(url, protocols) {
      made.push(Object.assign(this, { url: String(url), protocols, sent: [] }));
      if (away) setTimeout(() => this.onclose?.({ code: 1006, reason: '' }));
    }

    send(text) {
      this.sent.push(JSON.parse(text));
    }

    close() {}

    welcome() {
      const welcome = { mid: '1', connection: 'c', now: Date.now(), interval: 5_000, recording: { paused: false }, limits: {} };
      this.onmessage({ data: JSON.stringify({ welcome }) });
    }
  }
  return { made, Socket };
}

test('a device name that is too long is cut, at a letter', async () => {
  for (const [device, wanted] of [['ü'.repeat(40), 'ü'.repeat(32)], [`a${'📺'.repeat(20)}`, `a${'📺'.repeat(15)}`], ['tv', 'tv']]) {
    const { made, Socket } = sockets();
    client({ device, WebSocket: Socket }).connect();
    await until('a socket', () => made.length === 1);
    made[0].welcome();
    assert.equal(made[0].sent[0].hello.device, wanted);
  }
});

test('the path in url is kept, with whatever stands around it', async () => {
  const cases = [
    ['https://site.test/heartline', 'site.test/heartline'], ['https://site.test/a/b/?x=1#y', 'site.test/a/b'],
    ['https://site.test', 'site.test'], [new URL('https://site.test:8443/'), 'site.test:8443'],
    ['wss://site.test/heartline/', 'site.test/heartline'],
  ];
  for (const [url, wanted] of cases) {
    const { made, Socket } = sockets();
    const asked = [];
    const here = client({ url, WebSocket: Socket, fetch: async (address) => { asked.push(String(address)); return Response.json({}); } });
    here.connect();
    await until('a socket', () => made.length === 1);
    await here.rewards();
    assert.deepEqual([made[0].url, asked], [`wss://${wanted}/v1/connect`, [`https://${wanted}/v1/rewards/today`]]);
  }
  for (const url of ['/heartline', 'ftp://site.test', '']) assert.throws(() => client({ url }), /^TypeError: url must be/);
});

test('getToken that throws is a fault, told once, and asked again', async () => {
  const { made, Socket } = sockets();
  let asked = 0;
  const getToken = async () => {
    asked += 1;
    if (asked < 3) throw new Error('the endpoint answers 500');
    return 'token';
  };
  const here = client({ getToken, WebSocket: Socket });
  here.connect();
  await until('a socket', () => made.length === 1);
  made[0].welcome();
  assert.deepEqual([here.faults, here.state], [['getToken failed: the endpoint answers 500'], 'online']);
});

test('getToken that throws before it makes a promise is one, too', async () => {
  const here = client({ getToken: () => { throw new Error('no'); } });
  here.connect();
  await until('a fault', () => here.faults.length === 1);
  assert.equal(here.faults[0], 'getToken failed: no');
});

const unreadable = () => { throw new TypeError('Failed to fetch'); };

for (const [name, answers, wanted] of [
  ['a gateway that says so', () => Response.json({ origin: 'https://page.test', allowed: false }), true],
  ['a gateway whose answer cannot be read', ({ mode }) => (mode === 'no-cors' ? { type: 'opaque' } : unreadable()), true],
  ['a gateway that allows it', () => Response.json({ origin: 'https://page.test', allowed: true }), false],
  ['a gateway that does not know the question', () => new Response('', { status: 404 }), false],
  ['a gateway that is away', unreadable, false],
]) {
  test(`an origin that is not allowed is a fault: ${name}`, async () => {
    const { made, Socket } = sockets({ away: true });
    const asked = [];
    const fetch = async (url, options) => {
      asked.push(url);
      return answers(options);
    };
    const here = client({ WebSocket: Socket, fetch });
    here.connect();
    await until('the question', () => asked.some((url) => url === 'http://gateway.test/v1/origin'));
    if (wanted) await until('the fault', () => here.faults.length > 0);
    await until('one more attempt', () => made.length >= 3);
    assert.deepEqual(here.faults, wanted ? ["the gateway refuses this page's origin: add it to server.origins"] : []);
  });
}

test('a client that goes off the network while it takes to HTTP stays off', async () => {
  const { Socket } = sockets({ away: true });
  const asked = [];
  const fetch = async (url) => {
    asked.push(new URL(url).pathname);
    return new Response('', { status: 404 });
  };
  const here = client({ WebSocket: Socket, fetch });
  here.markWatched({ kind: 1, oid: '100' }, 1_000);
  let failed = 0;
  here.addEventListener('state', ({ detail }) => {
    if (detail.state === 'waiting' && ++failed === 3) here.disconnect();
  });
  here.connect();
  await until('the third failure', () => failed === 3);
  // The module that was asked for is here, and a timer of it would have come.
  await import('../../web-demo/client/heartline/fallback.js');
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.ok(!asked.includes('/v1/beats'), String(asked));
});

// A page, as far as the SDK listens to it.
function page(t) {
  const window = new EventTarget();
  const document = Object.assign(new EventTarget(), { hidden: false });
  Object.assign(globalThis, { window, document });
  t.after(() => {
    delete globalThis.window;
    delete globalThis.document;
  });
  return window;
}

test('offline and online are believed at once', async (t) => {
  const window = page(t);
  const { made, Socket } = sockets();
  const here = client({ WebSocket: Socket });
  here.connect();
  await until('a socket', () => made.length === 1);
  made[0].welcome();
  mock.method(Math, 'random', () => 1);
  t.after(() => mock.restoreAll());
  window.dispatchEvent(new Event('offline'));
  assert.deepEqual([here.state, here.states.at(-1).reason], ['waiting', 'the device is offline']);
  window.dispatchEvent(new Event('online'));
  assert.equal(here.state, 'connecting');
  await until('a socket', () => made.length === 2);
  window.dispatchEvent(new Event('offline'));
  window.dispatchEvent(new Event('online'));
  await until('another attempt', () => made.length === 3);
});

test('a client that was told to stay offline stays so', (t) => {
  const window = page(t);
  const here = client({});
  window.dispatchEvent(new Event('offline'));
  window.dispatchEvent(new Event('online'));
  assert.equal(here.state, 'offline');
});
