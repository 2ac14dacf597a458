/**
 * Polls as long as there are followers and the page is visible. Followers are called after each answer; one request is
 * in flight at a time.
 */
export class VisiblePoll {
  /** Called after each answer. */
  #followers = new Set();
  #ask;
  #period;
  #asking = false;
  #askedAt = -Infinity;
  #timer;

  /**
   * @param {() => Promise<void>} ask  never rejects
   * @param {number} period  milliseconds from one question to the next
   */
  constructor(ask, period) {
    this.#ask = ask;
    this.#period = period;
    document.addEventListener('visibilitychange', () => this.#plan());
  }

  /** @returns {() => void} ends it */
  follow(changed) {
    this.#followers.add(changed);
    this.#plan();
    return () => this.#followers.delete(changed);
  }

  #plan() {
    clearTimeout(this.#timer);
    if (document.hidden || this.#asking || this.#followers.size === 0) return;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, this.#askedAt + this.#period - performance.now()));
  }

  async #run() {
    [this.#asking, this.#askedAt] = [true, performance.now()];
    await this.#ask();
    this.#asking = false;
    for (const changed of this.#followers) changed();
    this.#plan();
  }
}
