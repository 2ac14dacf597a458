/**
 * One socket after another: connects, authenticates, renews the token, reconnects as the close code says.
 *
 * Nothing but a bug, a kick or `close` ends the attempts: what fails otherwise is tried again, and told to a developer
 * once.
 *
 * Flow: `open` → token → socket → welcome → `send` … until the socket is lost → wait → again. It knows frames by their
 * name only; what beats and answers mean is the business of its owner.
 */

import { Allowance } from './allowance.js';
import { Refusals } from './refusals.js';
import { bytesOf } from './text.js';

const PROTOCOL = 'heartline.v1.json';
const TOKEN_PREFIX = 'heartline.token.';

/** From the request for a token to the welcome. */
const CONNECT_MS_MAX = 15_000;
/** A connection that lived this long starts the backoff afresh. */
const STEADY_MS = 5_000;
const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 30_000;
/** How long before its end a token is renewed, and how often that is tried at most. */
const RENEW_MS_AHEAD = 60_000;
const RENEW_MS_APART = 1_000;
/** However often the user acts, attempts are so far apart. */
const ACT_MS_APART = 1_000;
/** So many different faults are told before a welcome. */
const FAULTS_MAX = 20;
/** The longest a timer can be. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Characters of a frame that cannot be read. */
const SHOWN_MAX = 200;

const REFUSED = 4001;
const KICKED = 4003;

/** What to do after a close. Every other code, and a socket that merely broke, means: again, with backoff. */
const AFTER_CLOSE = new Map([
  [1002, 'stop'], [1003, 'stop'], [1007, 'stop'], [1009, 'stop'], [4000, 'stop'],  // a bug: again would only repeat it
  [REFUSED, 'refused'], // see refusals.js
  [4002, 'new token'],
  [KICKED, 'stop'],     // revoked or kicked
  [4004, 'park'],       // too many connections: the user's next action decides
]);

const LIMITS = { beats: 500, items: 500, frames_per_second: 20, burst: 100, idle: 75_000 };

/**
 * @typedef {'offline'|'connecting'|'online'|'waiting'|'parked'|'stopped'} State
 *   offline: told so; waiting: for the next attempt; parked: for the user's next action; stopped: for good.
 */

/**
 * @typedef {object} ConnectionOptions
 * @property {string} url  of the socket
 * @property {object} hello  what this client says of itself
 * @property {string} auth  where the token goes
 * @property {(why: { refused: boolean }) => Promise<string>} getToken
 * @property {import('./clock.js').ServerClock} clock
 * @property {any} WebSocket
 */

/**
 * @typedef {object} ConnectionEvents
 * @property {(detail: any) => void} state  it has changed
 * @property {(type: any, detail: any) => unknown} event  tells the application
 * @property {(name: string, body: any) => void} received
 * @property {() => void} room  frames may be sent again
 * @property {() => boolean} owed  asks whether an answer is due
 * @property {(message: string) => void} fault
 */

export class Connection {
  #options;
  #on;
  /** @type {any} */
  #socket = null;
  #hello;
  /** What of it the present socket was told. @type {object | null} */
  #said = null;
  #seq = 0;
  /** @type {any} */
  #connectTimer;
  /** @type {any} */
  #renewTimer;
  /** @type {any} */
  #silenceTimer;
  #attempts = 0;
  /** @type {number | null} */
  #welcomedAt = null;
  /** @type {any} */
  #bye = null;
  #tokenRefused = false;
  #refusals = new Refusals();
  /** What was told as a fault since the last welcome. @type {Set<string>} */
  #told = new Set();
  /** The device has lost its network. */
  #cutOff = false;
  /** The last token that the gateway has closed with 4002. @type {string | null} */
  #expired = null;
  #allowance = new Allowance(LIMITS);

  /** @type {State} */
  state = 'offline';
  /** Attempts in a row in which no socket came to its welcome, though there was a token. */
  failures = 0;
  /** When the last attempt began, by the local clock. */
  triedAt = 0;
  /** The token last used, for HTTP. @type {string | null} */
  token = null;
  limits = LIMITS;

  /**
   * @param {ConnectionOptions} options
   * @param {ConnectionEvents} on
   */
  constructor(options, on) {
    this.#options = options;
    this.#hello = options.hello;
    this.#on = on;
  }

  /** Whether frames may be sent: between the welcome and the end, or the `bye` before it. */
  get ready() {
    return this.#welcomedAt !== null && this.#bye === null;
  }

  open() {
    if (this.state === 'connecting' || this.state === 'online') return;
    if (this.state === 'stopped') this.#refusals.clear();
    this.#connect();
  }

  /** Goes off the network until `open`. */
  close() {
    this.#drop();
    this.#enter('offline');
  }

  /** Gives up for good: what the server says cannot be put right by another attempt. @param {string} reason */
  stop(reason) {
    this.#drop();
    this.#enter('stopped', { reason });
  }

  /** Whether so many more frames are within the server's rate; if not, `room` is called when they are. */
  take(frames = 1) {
    return this.ready && this.#allowance.take(frames, () => this.#on.room());
  }

  /**
   * Sends one operation and returns its seq.
   * @param {string} operation
   * @param {any} body
   */
  send(operation, body) {
    const seq = this.#seq + 1;
    const text = JSON.stringify({ seq, [operation]: body });
    this.#seq = seq;
    this.#socket.send(text);
    this.#silenceTimer ??= this.#watchSilence();
    const secret = operation === 'hello' || operation === 'token';
    this.#on.event('frame', { direction: 'out', kind: operation, seq, bytes: bytesOf(text), body: secret ? undefined : body });
    return seq;
  }

  /** Says something new of this client in its `hello`, now and on every later socket. @param {object} changes */
  introduce(changes) {
    this.#hello = { ...this.#hello, ...changes };
    this.take();
    this.sayHello();
  }

  /** Says again who this is: a frame that is always valid, which ends a row of invalid ones. */
  sayHello() {
    if (this.ready) this.#sayHello();
  }

  /** The user has done something: what would be tried again much later, or only then, is tried now. */
  act() {
    if (this.state === 'parked') this.open();
    if (this.state !== 'waiting' || this.#refusals.wait === undefined) return;
    this.#connectAfter(Math.max(0, this.triedAt + ACT_MS_APART - this.#options.clock.local()));
  }

  /** The device has lost its network: what is sent now goes nowhere. */
  cutOff() {
    this.#cutOff = true;
    if (this.state === 'online' || this.state === 'connecting') this.#lost({ code: 1006, reason: 'the device is offline' });
  }

  /**
   * The network is back. If this device had lost it, the next attempt is made at once; otherwise soon, since it may be
   * back for others too.
   */
  hurry() {
    const wasCutOff = this.#cutOff;
    this.#cutOff = false;
    this.#attempts = 0;
    if (this.#refusals.wait !== undefined) return;
    if (wasCutOff && (this.state === 'waiting' || this.state === 'connecting')) this.#connect();
    else if (this.state === 'waiting') this.#connectAfter(this.#backoff());
  }

  /** The gateway has refused the token over HTTP. */
  refuse() {
    this.#tokenRefused = true;
  }

  async #connect() {
    this.#drop();
    this.#bye = null;
    this.#seq = 0;
    this.#said = null;
    this.triedAt = this.#options.clock.local();
    this.#enter('connecting');
    if (this.state !== 'connecting') return;  // a listener has closed it
    const attempt = {};
    this.#socket = attempt;  // stands for the socket until there is one; a later attempt replaces it
    this.#connectTimer = setTimeout(() => this.#lost({ code: 1006, reason: 'no welcome in time' }), CONNECT_MS_MAX);
    const token = await this.#askForToken(this.#tokenRefused);
    if (this.#socket !== attempt) return;
    if (token === null) this.#lost({ code: 1006, reason: 'no token' });
    else if (!this.#isUseless(token)) this.#openSocket(token);
  }

  /** @param {string} token */
  #openSocket(token) {
    const { auth, url, WebSocket } = this.#options;
    this.token = token;
    let socket;
    try {
      socket = new WebSocket(url, auth === 'hello' ? [PROTOCOL] : [PROTOCOL, TOKEN_PREFIX + token]);
    } catch (error) {
      const reason = `cannot connect: ${without(token, error)}`;
      this.#fault(reason);
      this.failures += 1;
      this.#lost({ code: 1006, reason });
      return;
    }
    this.#socket = socket;
    socket.onopen = () => auth === 'hello' && this.#sayHello({ token: this.token });
    socket.onmessage = (/** @type {any} */ { data }) => this.#receive(data);
    socket.onclose = (/** @type {any} */ { code, reason }) => this.#lost({ code, reason });
  }

  /** Whether nothing but a refusal would come of this token: then it is not tried. @param {string} token */
  #isUseless(token) {
    if (token === this.#expired) this.#fault('getToken returned the expired token again');
    if (!this.#refusals.repeats(token)) return false;
    this.#fault('getToken returned the refused token again');
    this.#lost({ code: REFUSED, reason: this.#refusals.reason });
    return true;
  }

  /** Tells a developer, once until the next welcome. @param {string} message */
  #fault(message) {
    if (this.#told.has(message) || this.#told.size >= FAULTS_MAX) return;
    this.#told.add(message);
    this.#on.fault(message);
  }

  /** @param {string} text */
  #receive(text) {
    const [kind, body] = parsed(text);
    if (!kind) return this.#on.fault(`a frame that cannot be read: ${String(text).slice(0, SHOWN_MAX)}`);
    this.#on.event('frame', { direction: 'in', kind, seq: body.seq, bytes: bytesOf(text), body });
    if (kind === 'welcome') this.#begin(body);
    if (kind === 'bye') this.#bye = body;
    const socket = this.#socket;
    try {
      this.#on.received(kind, body);
    } catch (error) {
      this.#on.fault(`${kind} was not understood: ${(/** @type {any} */ (error)).stack || error}`);
    }
    if (this.#socket !== socket) return;  // what it said, or what the owner made of it, was the end of this socket
    if (kind === 'welcome') this.#enter('online');
    if (body.expires) this.#renewBefore(body.expires);  // in the welcome and in the result of a renewal
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = this.#bye || this.#on.owed() ? this.#watchSilence() : null;
  }

  /** @param {any} welcome */
  #begin(welcome) {
    clearTimeout(this.#connectTimer);
    this.#tokenRefused = false;
    this.#refusals.clear();
    this.#told.clear();
    this.#expired = null;
    this.failures = 0;
    this.#welcomedAt = performance.now();
    this.limits = { ...LIMITS, ...welcome.limits };
    this.#allowance.end();
    this.#allowance = new Allowance(this.limits);
    if (this.#said !== this.#hello) this.introduce({});
  }

  /** @param {object} [token] */
  #sayHello(token = {}) {
    this.#said = this.#hello;
    this.send('hello', { ...token, ...this.#hello });
  }

  /** Asks for a new token some time before this one ends. @param {number} expires */
  #renewBefore(expires) {
    clearTimeout(this.#renewTimer);
    const left = expires - this.#options.clock.now();
    const wait = left - Math.min(RENEW_MS_AHEAD, left / 4);
    if (wait > TIMER_MS_MAX) this.#renewTimer = setTimeout(() => this.#renewBefore(expires), TIMER_MS_MAX);
    else if (left > RENEW_MS_APART) this.#renewTimer = setTimeout(() => this.#renew(expires), wait);
  }

  /**
   * Renews the token, again and again until the server has taken one or closes with 4002 at the end of the old.
   * @param {number} expires
   */
  async #renew(expires) {
    const socket = this.#socket;
    const token = await this.#askForToken(false);
    if (socket !== this.#socket || !this.ready) return;
    const left = expires - this.#options.clock.now();
    if (left > RENEW_MS_APART) {
      this.#renewTimer = setTimeout(() => this.#renew(expires), Math.max(RENEW_MS_APART, left / 4));
    }
    if (token === null) return;
    this.token = token;
    this.send('token', { token });
  }

  /** Null: there is none now. @param {boolean} refused */
  async #askForToken(refused) {
    try {
      const token = await this.#options.getToken({ refused });
      if (typeof token === 'string' && token !== '') return token;
      this.#fault('getToken must return a token, as a string');
    } catch (error) {
      // Without a network it could not do otherwise.
      if (!this.#cutOff) this.#fault(`getToken failed: ${messageOf(error)}`);
    }
    return null;
  }

  /**
   * A socket whose other end is gone may stay open for many minutes. A server that owes an answer and says nothing
   * for as long as it would itself wait is taken for gone.
   */
  #watchSilence() {
    return setTimeout(() => this.#lost({ code: 1006, reason: 'no answer' }), this.limits.idle);
  }

  /** @param {any} parts */
  #lost({ code, reason }) {
    const bye = this.#bye;
    const next = AFTER_CLOSE.get(code);
    if (this.#welcomedAt !== null && performance.now() - this.#welcomedAt > STEADY_MS) this.#attempts = 0;
    const opened = this.#socket !== null && 'close' in this.#socket;
    if (opened && this.#welcomedAt === null && !next && !this.#cutOff) this.failures += 1;
    this.#drop();
    if (next === 'stop' && code === KICKED) return this.#enter('stopped', { code, reason });
    if (next === 'stop') return this.#giveUp(`the gateway closed with ${code}`, { code, reason });
    if (next === 'park') return this.#enter('parked', { code, reason });
    if (next === 'refused') this.#refused(reason);
    this.#tokenRefused = next === 'refused' || next === 'new token';
    this.#expired = next === 'new token' ? this.token : null;
    const wait = next === 'refused' ? this.#refusals.wait : undefined;
    const delay = bye?.reconnect_after ?? wait ?? this.#backoff();
    this.#enter('waiting', { code, reason, delay });
    if (this.state === 'waiting') this.#connectAfter(delay);  // unless a listener has opened or closed it
  }

  /** @param {string} reason */
  #refused(reason) {
    this.#refusals.add(this.token || '', reason);
    this.#fault(`the gateway refused the token: ${reason || 'no reason given'}`);
  }

  /**
   * Stops for good, and says so to a developer.
   * @param {string} what
   * @param {any} parts
   */
  #giveUp(what, { code, reason }) {
    this.#on.fault(`stopped: ${what}${reason ? ` (${reason})` : ''}`);
    this.#enter('stopped', { code, reason });
  }

  /** @param {number} delay */
  #connectAfter(delay) {
    clearTimeout(this.#connectTimer);
    this.#connectTimer = setTimeout(() => this.#connect(), delay);
    this.#on.event('reconnecting', { delay, due: performance.now() + delay });
  }

  /** Full jitter: anywhere up to a bound that doubles. */
  #backoff() {
    return Math.random() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** this.#attempts++);
  }

  #drop() {
    for (const timer of [this.#connectTimer, this.#renewTimer, this.#silenceTimer]) clearTimeout(timer);
    this.#silenceTimer = null;
    this.#allowance.end();
    this.#welcomedAt = null;
    const socket = this.#socket;
    this.#socket = null;
    if (!socket?.close) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close(1000);
  }

  /** @param {State} state */
  #enter(state, detail = {}) {
    this.state = state;
    this.#on.state({ state, ...detail });
  }
}

/**
 * An error's message without the token, which the browser quotes if it cannot be a subprotocol.
 * @param {string} token
 * @param {any} error
 */
function without(token, error) {
  return messageOf(error).split(token).join('…');
}

/** @param {any} error */
function messageOf(error) {
  return String((error && error.message) || error);
}

/** A frame's name and body; neither, if it is none. @param {string} text */
function parsed(text) {
  try {
    const [[kind, body]] = Object.entries(JSON.parse(text));
    return body !== null && typeof body === 'object' ? [kind, body] : [];
  } catch {
    return [];
  }
}
