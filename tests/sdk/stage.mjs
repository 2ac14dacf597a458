// A real gateway, and clients of the SDK on it, in Node.
import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Heartline } from '../../web-demo/client/heartline.js';
import { Gateway } from '../browser/gateway.mjs';

// The longest that is waited for what has to come, however busy the machine is.
export const PATIENCE_MS = 120_000;
const LOOK_MS = 10;
export const KEY = 'a-key-of-the-tests-that-is-long-enough-for-hs256';

export class Stage {
  #scratch = mkdtempSync(join(tmpdir(), 'heartline-sdk-'));
  #clients = [];

  constructor(settings = {}) {
    this.gateway = new Gateway(process.env.HEARTLINE_BIN, this.#scratch, { HEARTLINE__AUTH__HS256_SECRET: KEY, ...settings });
  }

  async start() {
    await this.gateway.start();
  }

  async stop() {
    for (const client of this.#clients) client.close();
    await this.gateway.kill();
    rmSync(this.#scratch, { recursive: true });
  }

  // A client that is not connected yet. It remembers its events by their names, as `client.seen.beat` and so on.
  client(user, options = {}) {
    const getToken = async () => token(user);
    const client = new Heartline({ user, getToken, url: this.gateway.url, storage: null, ...options });
    this.#clients.push(client);
    return remembering(client);
  }

  async online(user, options) {
    const client = this.client(user, options);
    client.connect();
    await until('online', () => client.state === 'online');
    return client;
  }

  // Over HTTP, as another program of the user.
  async ask(user, method, path, body) {
    const headers = { authorization: `Bearer ${token(user)}`, 'content-type': 'application/json' };
    const options = { method, headers, body: body && JSON.stringify(body) };
    const answer = await fetch(new URL(path, this.gateway.url), options);
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  }

  async stored(user, ...oids) {
    const items = oids.map((oid) => ({ kind: 1, oid }));
    return (await this.ask(user, 'POST', '/v1/history/get', { items })).records;
  }
}

export function token(user, { key = KEY, ...claims } = {}) {
  const encoded = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const text = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${encoded({ sub: String(user), exp, ...claims })}`;
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`;
}

export async function until(what, condition) {
  const giveUp = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > giveUp) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

const EVENTS = ['state', 'beat', 'acked', 'rejected', 'dropped', 'elsewhere', 'record', 'recording', 'frame', 'fault'];

function remembering(client) {
  client.seen = {};
  client.addEventListener('welcome', ({ detail }) => { client.welcomeMs = Date.now() - detail.now; });
  for (const name of EVENTS) {
    client.seen[name] = [];
    client.addEventListener(name, (event) => {
      client.seen[name].push(event.detail);
      if (name === 'fault') event.preventDefault();
    });
  }
  return client;
}

// Until the client's clock is past that moment of the server's: what it makes from then on is newer. Client and server
// run on one machine, so the clock of each client is behind by what its welcome took.
export async function untilPast(client, at) {
  await until('a later moment', () => Date.now() - client.welcomeMs > at + 1);
}

// The frames of that kind that a client has sent.
export function sent(client, kind) {
  return client.seen.frame.filter((frame) => frame.direction === 'out' && frame.kind === kind);
}
