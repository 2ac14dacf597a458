/**
 * Another device of the user that plays the same content: whether it has taken over from this playback, and whether the
 * viewer has come back since.
 *
 * The viewer acts by playing or seeking. What the page does about the takeover, like a pause, is no act: as a beat it
 * would move the position of the other device back.
 */

export class Takeover {
  /** The viewer has acted, and no beat says so yet. */
  #acted = false;
  /** It was told since the viewer last acted. */
  #told = false;
  /** What happens now is the page's doing; and whether a seek of it goes on. */
  #untouched = false;
  #pageSeeks = false;

  /** Another device has taken over, and the viewer has not acted here since: no beat may be made. */
  silent = false;

  /**
   * Another device has stored a newer position. Returns whether that is to be told: once, until the viewer acts.
   * @param {{ plays: boolean, state: string, superseded: boolean }} what  whether this playback plays, the state of the
   *   other, and whether it has made a beat from here superseded
   */
  by({ plays, state, superseded }) {
    if (this.#told) return false;
    // Another device that stops, or marks the content, goes on no more than what stands still here.
    if (plays && !superseded && state !== 'playing') return false;
    this.silent = true;
    this.#told = plays || superseded;
    return this.#told;
  }

  /**
   * Calls what the page does about it. A seek of it may still go on afterwards.
   * @param {() => void} act
   * @param {() => boolean} seeking
   */
  untouched(act, seeking) {
    this.#untouched = true;
    act();
    this.#untouched = false;
    this.#pageSeeks = seeking();
  }

  /** A seek has begun. Returns whether it is the page's. */
  seeks() {
    const own = this.#untouched || this.#pageSeeks;
    this.#pageSeeks = false;
    return own;
  }

  /** Playback was started, or moved. Returns whether that is an act of the viewer. */
  acts() {
    if (this.#untouched) return false;
    this.#acted = true;
    this.silent = false;
    return true;
  }

  /** A beat was made. */
  said() {
    if (this.#acted) this.#acted = this.#told = false;
  }
}
