/**
 * Polls as long as there are followers, the page is visible and the gateway is there. Followers are called after each
 * answer; one request is in flight at a time.
 */
export class VisiblePoll {
  /** Called after each answer. */
  #followers = new Set();
  #ask;
  #period;
  #asking = false;
  #askedAt = -Infinity;
  #timer;
  /** Whether a question was asked since the gateway went away: by it the followers know. */
  #missed = false;
  static #all = [];
  static #away = false;

  /** Whether the gateway is away: then every question fails, and stands in the console. One is enough. */
  static set away(away) {
    if (away === VisiblePoll.#away) return;
    VisiblePoll.#away = away;
    for (const poll of VisiblePoll.#all) {
      poll.#missed = false;
      poll.#plan();
    }
  }

  /**
   * @param {() => Promise<void>} ask  never rejects
   * @param {number} period  milliseconds from one question to the next
   */
  constructor(ask, period) {
    this.#ask = ask;
    this.#period = period;
    VisiblePoll.#all.push(this);
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
    if (document.hidden || this.#missed || this.#asking || this.#followers.size === 0) return;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, this.#askedAt + this.#period - performance.now()));
  }

  async #run() {
    [this.#asking, this.#askedAt] = [true, performance.now()];
    // The answer to an earlier question may arrive after the gateway has gone.
    const away = VisiblePoll.#away;
    await this.#ask();
    this.#asking = false;
    this.#missed = away && VisiblePoll.#away;
    for (const changed of this.#followers) changed();
    this.#plan();
  }
}
