/**
 * The newest `at` of every content this client has seen, in a record or a beat of its own: what it forgets must be
 * forgotten that far, even where another device was ahead of this one's clock.
 *
 * Bound: CONTENTS_MAX contents; beyond it the one seen longest ago is left out, and its delete goes by the clock alone.
 */

import { contentKey } from './beat.js';

const CONTENTS_MAX = 1_000;

export class Seen {
  #newest = new Map();
  /** Of all contents; 0 before the first. */
  newestOfAll = 0;

  /** Takes a record, a beat, or nothing. @param {any} item */
  saw(item) {
    if (!item) return;
    const key = contentKey(item);
    const at = Math.max(item.at, this.#newest.get(key) || 0);
    this.#newest.delete(key);
    this.#newest.set(key, at);
    if (this.#newest.size > CONTENTS_MAX) this.#newest.delete(this.#newest.keys().next().value);
    this.newestOfAll = Math.max(this.newestOfAll, at);
  }

  /** @param {any[]} items */
  newestOf(items) {
    return Math.max(0, ...items.map(item => this.#newest.get(contentKey(item)) || 0));
  }
}
