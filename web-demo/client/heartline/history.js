/**
 * What a client asks and changes of the user's stored positions, over the socket or in its place.
 *
 * A forgetting has the `at` of the user's wish, where the server's clock is known by then, and the same at every
 * attempt.
 */

import { checkedContents, checkedPage } from './arguments.js';
import { HeartlineError, checkedTimeout } from './requests.js';

/**
 * @typedef {import('./arguments.js').GivenContent} Content
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {{ records: (StoredRecord | null)[], partial?: boolean }} Found  partial: a null may be one that could not be
 *   read just now
 * @typedef {{ records: StoredRecord[], cursor?: string, partial?: boolean }} Page
 */

export class History {
  #clock;
  #seen;
  #itemsMax;
  #ask;

  /**
   * @param {object} parts
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {import('./seen.js').Seen} parts.seen
   * @param {() => number} parts.itemsMax  of one request
   * @param {(operation: string, body: () => object, timeout?: number) => Promise<any>} parts.ask
   */
  constructor({ clock, seen, itemsMax, ask }) {
    this.#clock = clock;
    this.#seen = seen;
    this.#itemsMax = itemsMax;
    this.#ask = ask;
  }

  /**
   * @param {Content | Iterable<Content>} contents
   * @param {number} [timeout]
   * @returns {Promise<Found>}
   */
  async get(contents, timeout) {
    const items = this.#checkedItems(contents);
    checkedTimeout(timeout);
    if (items.length === 0) return { records: [] };
    return this.#saw(await this.#ask('get', () => ({ items }), timeout));
  }

  /**
   * @param {{ limit?: number, cursor?: string, kinds?: number | number[], finished?: boolean, timeout?: number }} page
   * @returns {Promise<Page>}
   */
  async list({ limit, cursor, kinds, finished, timeout } = {}) {
    const asked = checkedPage({ limit, cursor, kinds, finished });
    return this.#saw(await this.#ask('list', () => asked, timeout));
  }

  /**
   * @param {Content | Iterable<Content>} contents
   * @param {number} [timeout]
   */
  async delete(contents, timeout) {
    const items = this.#checkedItems(contents);
    checkedTimeout(timeout);
    if (items.length > 0) await this.#ask('delete', this.#forgetting({ items }, this.#seen.newestOf(items)), timeout);
  }

  /** @param {number} [timeout] */
  async clear(timeout) {
    await this.#ask('clear', this.#forgetting({}, this.#seen.newestOfAll), timeout);
  }

  /**
   * @param {boolean} paused
   * @param {number} [timeout]
   * @returns {Promise<{ paused: boolean }>}
   */
  async setRecording(paused, timeout) {
    const { recording } = await this.#ask('recording', this.#forgetting({ paused }, 0), timeout);
    return recording;
  }

  /** @param {any} answer */
  #saw(answer) {
    for (const record of answer.records) this.#seen.saw(record);
    return answer;
  }

  /**
   * @param {any} body
   * @param {number} newest
   */
  #forgetting(body, newest) {
    const stamped = () => {
      if (body.at === undefined) body.at = Math.max(this.#clock.now(), newest);
      return body;
    };
    if (this.#clock.known) stamped();
    return stamped;
  }

  /** @param {any} contents */
  #checkedItems(contents) {
    const items = checkedContents(contents);
    const most = this.#itemsMax();
    if (items.length > most) throw new HeartlineError('too_many', `at most ${most} contents, not ${items.length}`);
    return items;
  }
}
