/**
 * Shows how long it is until a moment that is known: the seconds left, rounded up. The text changes when the number
 * does, and stops at the moment itself or with `stop`.
 */

export class Countdown {
  #show;
  #due = 0;
  #timer = null;

  /** @param {(seconds: number) => void} show */
  constructor(show) {
    this.#show = show;
  }

  /** `due`: the moment, by `performance.now()`. */
  start(due) {
    this.#due = due;
    this.#tick();
  }

  stop() {
    clearTimeout(this.#timer);
  }

  #tick() {
    clearTimeout(this.#timer);
    const left = Math.max(0, this.#due - performance.now());
    const seconds = Math.ceil(left / 1_000);
    this.#show(seconds);
    // A timer may fire a little early, which would show the same number once more.
    if (seconds > 0) this.#timer = setTimeout(() => this.#tick(), left - (seconds - 1) * 1_000 + 1);
  }
}
