/**
 * Tokens that the gateway has refused in a row (close code 4001), and when another attempt makes sense.
 *
 * A first refusal asks for a new token, which is tried soon. If `getToken` returns the refused token again, or the new
 * one is refused for the same reason, then only somebody who mends it can help: it is tried again after 5 s, after 30
 * s, then each minute. Reasons that time may mend are the exception: a gateway that does not know the key yet, a clock
 * that is behind, a first frame that came too late. A refusal without a reason is taken for one of them.
 */

const TIME_MAY_MEND = /^$|\bkid\b|not valid yet|in the future|in time|too late/i;
const WAITS_MS = [5_000, 30_000, 60_000];

export class Refusals {
  /** @type {string | null} */
  #token = null;
  /** @type {string | null} */
  #reason = null;
  /** In a row, for this reason. */
  #times = 0;

  /**
   * Takes note of a refusal.
   * @param {string} token
   * @param {string} [reason]
   */
  add(token, reason = '') {
    this.#times = reason === this.#reason ? this.#times + 1 : 1;
    this.#token = token;
    this.#reason = reason;
  }

  /** After a welcome. */
  clear() {
    this.#token = this.#reason = null;
    this.#times = 0;
  }

  get reason() {
    return this.#reason || '';
  }

  /** Milliseconds until the next attempt; undefined: no more than after any other failure. */
  get wait() {
    if (this.#times < 2 || this.#passing) return undefined;
    return WAITS_MS[Math.min(this.#times - 2, WAITS_MS.length - 1)];
  }

  /** Whether the token is the one refused last, and would be refused again. @param {string} token */
  repeats(token) {
    return token === this.#token && !this.#passing;
  }

  /** Whether the same token, or a second one refused for the same reason, may be accepted later. */
  get #passing() {
    return TIME_MAY_MEND.test(this.reason);
  }
}
