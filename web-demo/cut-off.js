/**
 * A connection that was cut does not come back before a beat waits for it: otherwise the client would be back within half
 * a second, and there would be nothing to resend.
 *
 * Bound: what plays makes a beat at every interval. A video that stalls makes none, so it ends after HELD_MS_MAX.
 */

const HELD_MS_MAX = 12_000;

export class CutOff {
  #changed;
  #over = Promise.resolve();
  #resolve = () => {};
  #timer;
  #holds = false;

  /** @param {() => void} changed  it has begun or ended */
  constructor(changed) {
    this.#changed = changed;
  }

  /** Whether no connection may be made. */
  get holds() {
    return this.#holds;
  }

  /** Settles when one may be made. */
  get over() {
    return this.#over;
  }

  begin() {
    this.end();
    this.#holds = true;
    this.#over = new Promise(resolve => { this.#resolve = resolve; });
    this.#timer = setTimeout(() => this.end(), HELD_MS_MAX);
    this.#changed();
  }

  end() {
    if (!this.#holds) return;
    this.#holds = false;
    clearTimeout(this.#timer);
    this.#resolve();
    this.#changed();
  }
}
