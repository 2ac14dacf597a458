/**
 * HTTP in place of the socket, where no socket can be opened: a proxy or a network may let only requests pass.
 *
 * After some attempts in a row that brought no welcome, what waits is sent over HTTP once per interval: beats,
 * and requests. Where HTTP does not work either, it is tried less and less often. The socket is tried again all the
 * while, and its welcome ends this.
 */

import { result, routes } from './routes.js';

const WAIT_MS_MAX = 30_000;
/** Error codes after which a retry may succeed, beside errors that are marked as temporary. */
const PASSING = ['offline', 'unauthorized'];

export class Fallback {
  #parts;
  #on;
  /** @type {any} */
  #timer;
  #running = false;
  /** Something came while a turn was under way. */
  #again = false;
  /** Attempts over HTTP that failed in a row. */
  #failures = 0;

  /** Whether the gateway answers over HTTP, and no socket can be opened. */
  works = false;

  /**
   * @param {object} parts
   * @param {import('./connection.js').Connection} parts.connection
   * @param {import('./delivery.js').Delivery} parts.delivery
   * @param {import('./requests.js').Requests} parts.requests
   * @param {import('./http.js').Http} parts.http
   * @param {object} on
   * @param {() => number} on.interval  between two turns, in milliseconds
   * @param {(transport: 'http' | 'socket') => void} on.changed  it has begun to work, or is not needed any more
   */
  constructor(parts, on) {
    this.#parts = parts;
    this.#on = on;
  }

  /** No socket can be opened. */
  begin() {
    if (this.#timer === undefined) this.#turnAfter(0);
  }

  /** Something waits that should not wait for the next interval. */
  hurry() {
    if (!this.works) return;
    if (this.#running) this.#again = true;
    else this.#turnAfter(0);
  }

  /** A socket is open again, or the client was told to go off the network. */
  end() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#failures = 0;
    if (!this.works) return;
    this.works = false;
    this.#on.changed('socket');
  }

  /** @param {number} wait */
  #turnAfter(wait) {
    clearTimeout(this.#timer);
    const timer = setTimeout(() => this.#turn(timer), wait);
    this.#timer = timer;
  }

  /** @param {any} timer */
  async #turn(timer) {
    this.#running = true;
    this.#again = false;
    const done = await this.#exchange();
    this.#running = false;
    if (this.#timer !== timer) return;  // the socket is back, or the client was told to go off the network
    if (done === true) this.#worked();
    if (done === false) this.#failures += 1;
    const wait = Math.min(WAIT_MS_MAX, this.#on.interval() * 2 ** this.#failures);
    this.#turnAfter(done && this.#again ? 0 : wait);
  }

  #worked() {
    this.#failures = 0;
    if (this.works) return;
    this.works = true;
    this.#on.changed('http');
  }

  /** Beats first: a read then sees them. Returns whether all was answered; null if nothing was to be sent. */
  async #exchange() {
    const { delivery, requests, http } = this.#parts;
    if (delivery.idle && requests.unsent.length === 0) return null;
    if (!http.ready || !await delivery.learnTime()) return false;
    const delivered = await delivery.post();
    if (delivered === false) return false;
    const asked = await this.#ask();
    if (delivered === null && asked === null) return null;
    return asked !== false;
  }

  /** Asks what waits for a socket, one after the other. Returns whether all was answered, null if nothing waited. */
  async #ask() {
    const waiting = this.#parts.requests.unsent;
    for (const request of waiting) if (!await this.#answered(request)) return false;
    return waiting.length > 0 || null;
  }

  /** @param {import('./requests.js').Waiting} request */
  async #answered(request) {
    const { requests, http } = this.#parts;
    const { operation, body } = request;
    try {
      const answers = [];
      for (const route of routes(operation, body())) answers.push(await http.send(route));
      requests.remove(request);
      request.resolve(result(operation, answers));
    } catch (/** @type {any} */ error) {
      if (error.retry || PASSING.includes(error.code)) return false;
      requests.remove(request);
      request.reject(error);
    }
    return true;
  }
}
