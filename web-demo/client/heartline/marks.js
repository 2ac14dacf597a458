/** Marks: contents that the user calls watched, without having played them here. */

import { checkedContent, checkedLength } from './arguments.js';
import { newSession } from './reporter.js';

/** A beat of which nothing was watched is refused. */
const WATCHED_MS_MIN = 1;

export class Marks {
  #clock;
  #seen;
  /** The `at` of the newest: two of one content may come in one millisecond. */
  #newestAt = 0;

  /**
   * @param {import('./clock.js').ServerClock} clock
   * @param {import('./seen.js').Seen} seen
   */
  constructor(clock, seen) {
    this.#clock = clock;
    this.#seen = seen;
  }

  /**
   * A mark is a beat, of a session of its own.
   * @param {import('./arguments.js').GivenContent} content
   * @param {number} dur  in milliseconds, 0 if it has none
   */
  make(content, dur) {
    const checked = checkedContent(content);
    const pos = checkedLength(dur);
    /** @type {import('./beat.js').Beat} */
    const beat = { ...checked, pos, dur: pos, state: 'ended', session: newSession(), watched: WATCHED_MS_MIN, rate: 1 };
    // Newer than what the user sees. Without the server's clock yet the beat gets its `at` later, at the welcome.
    const newest = Math.max(this.#newestAt, this.#seen.newestOf([checked]));
    if (this.#clock.known) beat.at = this.#newestAt = Math.max(this.#clock.now(), newest + 1);
    return beat;
  }
}
