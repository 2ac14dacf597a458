/**
 * Operations that are answered one by one: asked once the connection is there, and again after a reconnect, since
 * every one of them may be repeated.
 *
 * Bounds: REQUESTS_MAX at a time, more are refused at once; `timeout` for an answer, from the call on, whether there is
 * a connection or not. A request that timed out may still have taken effect.
 */

/** Milliseconds, unless the caller says otherwise. */
export const TIMEOUT_MS = 10_000;
const REQUESTS_MAX = 100;
/** The longest a timer can be. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export class HeartlineError extends Error {
  /**
   * @param {string} code  one of the protocol's, or `offline`, `timeout`
   * @param {boolean} [retry]  whether the same may succeed later
   * @param {string} message
   */
  constructor(code, message, retry = false) {
    super(message);
    this.name = 'HeartlineError';
    this.code = code;
    this.retry = retry;
  }
}

/**
 * @typedef {object} Waiting
 * @property {string} operation
 * @property {() => any} body
 * @property {(result: any) => void} resolve
 * @property {(error: any) => void} reject
 * @property {number} seq  0 until it is sent on this connection
 * @property {any} [timer]
 */

export class Requests {
  #connection;
  /** In the order of asking. @type {Waiting[]} */
  #waiting = [];

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    this.#connection = connection;
  }

  /** Whether an answer is due. */
  get owed() {
    return this.#waiting.some(({ seq }) => seq > 0);
  }

  /** What waits for a connection. */
  get unsent() {
    return this.#waiting.filter(({ seq }) => seq === 0);
  }

  /**
   * @param {() => object} body  called at the first sending
   * @param {number} [timeout]  in milliseconds: then the promise is rejected
   * @param {string} operation
   */
  async ask(operation, body, timeout) {
    const patience = checkedTimeout(timeout);
    const { state } = this.#connection;
    if (state === 'offline' || state === 'stopped') throw notConnected(state);
    if (this.#waiting.length >= REQUESTS_MAX) {
      throw new HeartlineError('too_many', `${REQUESTS_MAX} requests are waiting`, true);
    }
    return new Promise((resolve, reject) => {
      /** @type {Waiting} */
      const request = { operation, body, resolve, reject, seq: 0 };
      request.timer = setTimeout(() => {
        this.remove(request);
        reject(timedOut(operation, patience, this.#connection.state));
      }, patience);
      this.#waiting.push(request);
      this.pump();
    });
  }

  /** What cannot be encoded is refused, and holds up nothing else. */
  pump() {
    for (const request of [...this.#waiting]) {
      if (request.seq > 0) continue;
      if (!this.#connection.take()) return;
      try {
        request.seq = this.#connection.send(request.operation, request.body());
      } catch (error) {
        this.remove(request);
        request.reject(error);
      }
    }
  }

  /** After a loss: what was asked is asked again. */
  end() {
    for (const request of this.#waiting) request.seq = 0;
  }

  /** The client was told to stay offline, or stopped for good: no answer will come. @param {string} state */
  refuse(state) {
    for (const { reject, timer } of this.#waiting.splice(0)) {
      clearTimeout(timer);
      reject(notConnected(state));
    }
  }

  /** Both return whether there was such a request. @param {any} parts */
  resolve({ seq, ...result }) {
    const request = this.#take(seq);
    request?.resolve(result);
    return Boolean(request);
  }

  /** @param {any} parts */
  reject({ seq, code, message, retry }) {
    const request = this.#take(seq);
    request?.reject(new HeartlineError(code, message, retry));
    return Boolean(request);
  }

  /** @param {number} seq */
  #take(seq) {
    const request = this.#waiting.find(waiting => waiting.seq > 0 && waiting.seq === seq);
    if (request) this.remove(request);
    return request;
  }

  /** It is answered. @param {Waiting} request */
  remove(request) {
    clearTimeout(request.timer);
    // The socket and HTTP may both have answered it.
    this.#waiting = this.#waiting.filter(waiting => waiting !== request);
  }
}

/** The timeout of a request, or the default; anything that a timer would take for 0 is refused. */
export function checkedTimeout(timeout = TIMEOUT_MS) {
  if (!(timeout > 0 && timeout <= TIMER_MS_MAX)) throw new TypeError(`timeout must be from 1 to ${TIMER_MS_MAX} milliseconds`);
  return timeout;
}

/**
 * `state`: that of the connection, which says why there was no answer.
 * @param {string} operation
 * @param {number | undefined} timeout
 * @param {string} state
 */
export function timedOut(operation, timeout, state) {
  const why = state === 'online' ? '' : `; the connection is ${state}`;
  return new HeartlineError('timeout', `${operation}: no answer within ${timeout} ms${why}`, true);
}

/** @param {string} state */
function notConnected(state) {
  return new HeartlineError('offline', `not connected: ${state}`);
}
