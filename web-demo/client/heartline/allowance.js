/**
 * A token bucket of half the server's burst: frames that the network held up arrive together, and the other half is
 * for them.
 */
export class Allowance {
  #perSecond;
  #capacity;
  #level;
  #filledAt = performance.now();
  /** @type {any} */
  #timer = null;

  /** @param {any} parts */
  constructor({ frames_per_second, burst }) {
    this.#perSecond = frames_per_second;
    this.#level = this.#capacity = Math.max(1, burst / 2);
  }

  /**
   * @param {number} frames
   * @param {() => void} whenRoom
   */
  take(frames, whenRoom) {
    const now = performance.now();
    this.#level = Math.min(this.#capacity, this.#level + (now - this.#filledAt) / 1000 * this.#perSecond);
    this.#filledAt = now;
    const wanted = Math.min(frames, this.#capacity);
    if (this.#level >= wanted) {
      this.#level -= wanted;
      return true;
    }
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      whenRoom();
    }, (wanted - this.#level) / this.#perSecond * 1000 + 1);
    return false;
  }

  end() {
    clearTimeout(this.#timer);
  }
}
