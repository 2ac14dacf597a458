/**
 * Beats over HTTP: what is unanswered, in one request, the newest first. They stay in the outbox until they are answered;
 * that the socket carries the same beats is harmless.
 */

import { bytesOf } from './text.js';

/** A browser's budget for all its keepalive requests is 64 KiB. */
const BYTES_MAX = 60 * 1024;
const PATH = '/v1/beats';

/**
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./outbox.js').Entry} Entry
 */

export class Parcel {
  #parts;
  #delivery;
  #event;
  /** On their way. @type {Set<Entry>} */
  #entries = new Set();

  /**
   * @param {object} parts
   * @param {import('./connection.js').Connection} parts.connection
   * @param {import('./outbox.js').Outbox} parts.outbox
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {import('./http.js').Http} parts.http
   * @param {import('./delivery.js').Delivery} delivery
   * @param {(type: any, detail: any) => unknown} event
   */
  constructor(parts, delivery, event) {
    this.#parts = parts;
    this.#delivery = delivery;
    this.#event = event;
  }

  /**
   * Sends what is unanswered. Returns whether it was answered, null if nothing was to be sent.
   * @param {{ outlives?: boolean, empty?: boolean }} [options]  outlives: the page; empty: it only asks for the server's
   *   time, without which nothing that has an `at` can be sent
   */
  async send({ outlives = false, empty = false } = {}) {
    const { http, clock } = this.#parts;
    if (!http.ready) return false;
    const body = { ...this.#delivery.greeting, items: /** @type {Beat[]} */ ([]) };
    const entries = empty ? [] : this.#newest(BYTES_MAX - size(body));
    if (entries.length === 0 && !empty) return null;
    body.items = entries.map(({ beat }) => beat);
    const askedAt = clock.local();
    for (const entry of entries) this.#entries.add(entry);
    this.#told('out', body);
    try {
      const answer = await (outlives ? http.post(PATH, body) : http.send({ method: 'POST', path: PATH, body }));
      this.#told('in', answer);
      clock.rebase(answer.now, askedAt);
      this.#delivery.answered(answer, entries);
      return true;
    } catch {
      return false;  // the next connection carries it
    } finally {
      for (const entry of entries) this.#entries.delete(entry);
    }
  }

  /**
   * @param {'in' | 'out'} direction
   * @param {any} body
   */
  #told(direction, body) {
    this.#event('frame', { direction, kind: `POST ${PATH}`, bytes: size(body), body });
  }

  /**
   * The newest beats that fit into so many bytes, the newest first, without those that are on their way already.
   * @param {number} room
   */
  #newest(room) {
    const { outbox, connection } = this.#parts;
    const entries = [];
    for (const entry of outbox.entries().reverse()) {
      room -= size(entry.beat) + 1;
      if (room < 0 || entries.length === connection.limits.beats) break;
      if (!this.#entries.has(entry)) entries.push(entry);
    }
    return entries;
  }
}

/** In bytes, as JSON. @param {any} value */
function size(value) {
  return bytesOf(JSON.stringify(value));
}
