/**
 * The server's clock, as far as this client can tell it: the newest `now` the server sent plus the time since.
 *
 * A browser has no single clock that can measure that time. `performance.now()` is steady but may stand still while
 * the device sleeps; `Date.now()` runs on but is moved by hand and by the network. So time is counted by the steady
 * one, and where the wall clock says that clearly more has passed, the device is taken to have slept. A wall clock
 * set forward looks the same; the server then answers `clock` with its `now`, and the next rebase mends it.
 */

/** Below this the two clocks merely drift apart. */
const SLEEP_MS_MIN = 1_000;
/** A `now` that took longer than this may have waited in a sleeping device: no clock is set by it. */
const ANSWER_MS_MAX = 15_000;

export class ServerClock {
  #wall;
  #steady;
  #wallLast;
  #steadyLast;
  #local;
  /** What the server's clock is ahead of the local one. @type {number | null} */
  #offset = null;

  constructor({ wall = () => Date.now(), steady = () => performance.now() } = {}) {
    this.#wall = wall;
    this.#steady = steady;
    this.#wallLast = this.#local = wall();
    this.#steadyLast = steady();
  }

  /**
   * Milliseconds that begin at the wall clock's reading, run through sleep and never go back. A value kept beyond a
   * reload can be compared with those of the next process as far as the wall clock can be trusted.
   */
  local() {
    const wall = this.#wall();
    const steady = this.#steady();
    const wallPassed = wall - this.#wallLast;
    const steadyPassed = steady - this.#steadyLast;
    this.#wallLast = wall;
    this.#steadyLast = steady;
    this.#local += wallPassed - steadyPassed > SLEEP_MS_MIN ? wallPassed : steadyPassed;
    return this.#local;
  }

  /** Whether the server has told its time yet. */
  get known() {
    return this.#offset !== null;
  }

  /**
   * Takes over the server's time, at every `now` it sends; `askedAt` is the local time of what it answers. The way
   * here makes this clock late, never early.
   * @param {number} now
   * @param {number | undefined} askedAt
   */
  rebase(now, askedAt) {
    const local = this.local();
    if (!this.known || local - (askedAt || 0) < ANSWER_MS_MAX) this.#offset = now - local;
  }

  /** The server's time in whole milliseconds. Only once it is known. */
  now() {
    return Math.floor(this.local() + /** @type {number} */ (this.#offset));
  }

  /** What the server's clock showed when `local()` gave `made`; never ahead of now. @param {number} made */
  at(made) {
    const now = this.now();
    return Math.min(now, Math.floor(made + /** @type {number} */ (this.#offset)));
  }
}
