/**
 * One socket after another: connects, authenticates, renews the token, reconnects as the close code says.
 *
 * Flow: `open` → token → socket → welcome → `send` … until the socket is lost → wait → again. It knows frames by their
 * name only; what beats and answers mean is the business of its owner.
 */

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
/** The longest a timer can be. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** What to do after a close. Every other code, and a socket that merely broke, means: again, with backoff. */
const AFTER_CLOSE = new Map([
  [1002, 'stop'], [1003, 'stop'], [1007, 'stop'], [1009, 'stop'], [4000, 'stop'],  // a bug: again would only repeat it
  [4001, 'new token'], [4002, 'new token'],
  [4003, 'stop'],   // revoked or kicked
  [4004, 'park'],   // too many connections: the user's next action decides
]);

const LIMITS = { beats: 500, frames_per_second: 20, burst: 100, idle: 75_000 };

/**
 * @typedef {'offline'|'connecting'|'online'|'waiting'|'parked'|'stopped'} State
 *   offline: told so; waiting: for the next attempt; parked: for the user's next action; stopped: for good.
 */

export class Connection {
  #options;
  #on;
  #socket = null;
  #hello;
  /** What of it the present socket was told. */
  #said = null;
  #seq = 0;
  #connectTimer;
  #renewTimer;
  #silenceTimer;
  #attempts = 0;
  #welcomedAt = null;
  #bye = null;
  #tokenRefused = false;
  #allowance = new Allowance(LIMITS);

  /** @type {State} */
  state = 'offline';
  /** The token last used, for HTTP. */
  token = null;
  limits = LIMITS;

  /**
   * @param {object} options  url, hello, auth, getToken, clock, WebSocket
   * @param {object} on  state(detail), reconnecting({ delay, due }), frame(detail), received(name, body), room(),
   *   owed() → whether an answer is due
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
    this.#connect();
  }

  /** Goes off the network until `open`. */
  close() {
    this.#drop();
    this.#enter('offline');
  }

  /** Gives up for good: what the server says cannot be put right by another attempt. */
  stop(reason) {
    this.#drop();
    this.#enter('stopped', { reason });
  }

  /** Whether one more frame is within the server's rate; if not, `room` is called when it is. */
  take() {
    return this.ready && this.#allowance.take(() => this.#on.room());
  }

  /** Sends one operation and returns its seq. */
  send(operation, body) {
    const seq = ++this.#seq;
    const text = JSON.stringify({ seq, [operation]: body });
    this.#socket.send(text);
    this.#silenceTimer ??= this.#watchSilence();
    const secret = operation === 'hello' || operation === 'token';
    this.#on.frame({ direction: 'out', kind: operation, seq, bytes: size(text), body: secret ? undefined : body });
    return seq;
  }

  /** Says something new of this client in its `hello`, now and on every later socket. */
  introduce(changes) {
    this.#hello = { ...this.#hello, ...changes };
    if (this.ready) this.#sayHello();
  }

  /** Makes the next attempt soon, since the network seems to be back; not at once, since it is back for others too. */
  hurry() {
    this.#attempts = 0;
    if (this.state === 'waiting') this.#connectAfter(this.#backoff());
  }

  async #connect() {
    clearTimeout(this.#connectTimer);
    this.#bye = null;
    this.#seq = 0;
    this.#said = null;
    this.#enter('connecting');
    const attempt = {};
    this.#socket = attempt;  // stands for the socket until there is one; a later attempt replaces it
    this.#connectTimer = setTimeout(() => this.#lost({ code: 1006, reason: 'no welcome in time' }), CONNECT_MS_MAX);
    const { getToken, auth, url, WebSocket } = this.#options;
    let socket;
    try {
      const token = await getToken({ refused: this.#tokenRefused });
      if (this.#socket !== attempt) return;
      this.token = token;
      socket = new WebSocket(url, auth === 'hello' ? [PROTOCOL] : [PROTOCOL, TOKEN_PREFIX + token]);
    } catch (error) {
      if (this.#socket === attempt) this.#lost({ code: 1006, reason: `cannot connect: ${error.message}` });
      return;
    }
    this.#socket = socket;
    socket.onopen = () => auth === 'hello' && this.#sayHello({ token: this.token });
    socket.onmessage = ({ data }) => this.#receive(data);
    socket.onclose = ({ code, reason }) => this.#lost({ code, reason });
  }

  #receive(text) {
    const frame = JSON.parse(text);
    const kind = Object.keys(frame)[0];
    const body = frame[kind];
    this.#on.frame({ direction: 'in', kind, seq: body.seq, bytes: size(text), body });
    if (kind === 'welcome') this.#begin(body);
    if (kind === 'bye') this.#bye = body;
    const socket = this.#socket;
    this.#on.received(kind, body);
    if (this.#socket !== socket) return;  // what it said, or what the owner made of it, was the end of this socket
    if (kind === 'welcome') this.#enter('online');
    if (body.expires) this.#renewBefore(body.expires);  // in the welcome and in the result of a renewal
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = this.#bye || this.#on.owed() ? this.#watchSilence() : null;
  }

  #begin(welcome) {
    clearTimeout(this.#connectTimer);
    this.#tokenRefused = false;
    this.#welcomedAt = performance.now();
    this.limits = { ...LIMITS, ...welcome.limits };
    this.#allowance.end();
    this.#allowance = new Allowance(this.limits);
    if (this.#said !== this.#hello) this.#sayHello();
  }

  #sayHello(token) {
    this.take();
    this.#said = this.#hello;
    this.send('hello', { ...token, ...this.#hello });
  }

  /** Asks for a new token some time before this one ends. */
  #renewBefore(expires) {
    clearTimeout(this.#renewTimer);
    const left = expires - this.#options.clock.now();
    const wait = left - Math.min(RENEW_MS_AHEAD, left / 4);
    if (wait > TIMER_MS_MAX) this.#renewTimer = setTimeout(() => this.#renewBefore(expires), TIMER_MS_MAX);
    else if (left > RENEW_MS_APART) this.#renewTimer = setTimeout(() => this.#renew(expires), wait);
  }

  /** Renews the token, again and again until the server has taken one or closes with 4002 at the end of the old. */
  async #renew(expires) {
    const socket = this.#socket;
    const token = await this.#options.getToken({ refused: false }).catch(() => null);
    if (socket !== this.#socket || !this.ready) return;
    const left = expires - this.#options.clock.now();
    if (left > RENEW_MS_APART) {
      this.#renewTimer = setTimeout(() => this.#renew(expires), Math.max(RENEW_MS_APART, left / 4));
    }
    if (token === null) return;
    this.token = token;
    this.send('token', { token });
  }

  /**
   * A socket whose other end is gone may stay open for many minutes. A server that owes an answer and says nothing
   * for as long as it would itself wait is taken for gone.
   */
  #watchSilence() {
    return setTimeout(() => this.#lost({ code: 1006, reason: 'no answer' }), this.limits.idle);
  }

  #lost({ code, reason }) {
    const bye = this.#bye;
    if (this.#welcomedAt !== null && performance.now() - this.#welcomedAt > STEADY_MS) this.#attempts = 0;
    this.#drop();
    const next = AFTER_CLOSE.get(code);
    if (next === 'stop') return this.#enter('stopped', { code, reason });
    if (next === 'park') return this.#enter('parked', { code, reason });
    this.#tokenRefused = next === 'new token';
    const delay = bye?.reconnect_after ?? this.#backoff();
    this.#enter('waiting', { code, reason, delay });
    if (this.state === 'waiting') this.#connectAfter(delay);  // unless a listener has opened or closed it
  }

  #connectAfter(delay) {
    clearTimeout(this.#connectTimer);
    this.#connectTimer = setTimeout(() => this.#connect(), delay);
    this.#on.reconnecting({ delay, due: performance.now() + delay });
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

  #enter(state, detail = {}) {
    this.state = state;
    this.#on.state({ state, ...detail });
  }
}

/**
 * A token bucket of half the server's burst: frames that the network held up arrive together, and the other half is
 * for them.
 */
class Allowance {
  #perSecond;
  #capacity;
  #level;
  #filledAt = performance.now();
  #timer = null;

  constructor({ frames_per_second, burst }) {
    this.#perSecond = frames_per_second;
    this.#level = this.#capacity = Math.max(1, burst / 2);
  }

  take(whenRoom) {
    const now = performance.now();
    this.#level = Math.min(this.#capacity, this.#level + (now - this.#filledAt) / 1000 * this.#perSecond);
    this.#filledAt = now;
    if (this.#level >= 1) {
      this.#level -= 1;
      return true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      whenRoom();
    }, (1 - this.#level) / this.#perSecond * 1000 + 1);
    return false;
  }

  end() {
    clearTimeout(this.#timer);
  }
}

function size(text) {
  return new TextEncoder().encode(text).length;
}
