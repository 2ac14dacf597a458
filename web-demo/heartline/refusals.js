/**
 * Tokens that the gateway has refused in a row (close code 4001), and whether another attempt makes sense.
 *
 * A first refusal asks for a new token. If `getToken` returns the refused token again, or the new one is refused for
 * the same reason, another attempt would change nothing. Reasons that time may mend are the exception: a gateway that
 * does not know the key yet, a clock that is behind, a first frame that came too late. A refusal without a reason is
 * taken for one of them.
 */

const TIME_MAY_MEND = /^$|\bkid\b|not valid yet|in the future|in time|too late/i;

export class Refusals {
  #token = null;
  #reason = null;

  /** Takes note of a refusal. Returns whether it is news: the first, or for another reason than the one before. */
  add(token, reason) {
    const before = this.#reason;
    this.#token = token;
    this.#reason = reason ?? '';
    return this.#reason !== before;
  }

  /** After a welcome. */
  clear() {
    this.#token = this.#reason = null;
  }

  get reason() {
    return this.#reason;
  }

  /** Whether the same token, or a second one refused for the same reason, may be accepted later. */
  get passing() {
    return TIME_MAY_MEND.test(this.#reason);
  }

  /** Whether the token is the one refused last, and would be refused again. */
  repeats(token) {
    return token === this.#token && !this.passing;
  }
}
