/**
 * A source that was given something else, or comes back from an advertisement: whether it plays the same content again.
 *
 * A player that changes the quality, or mends an error, goes back to where it was: that is the same content, and so is
 * what has the same address, once the viewer watches it or seeks in it. Anything else is another: an episode may be as
 * long as the one before.
 */

import { SLACK_SECONDS } from './source.js';

/** A player goes back to where it was as well as it can: to a key frame, or a little before an advertisement. */
const NEAR_SECONDS = 10;
/** What is watched for so long is not merely on its way back. */
const WATCHED_MS = 5_000;

export class Change {
  #source;
  #position;
  #duration;
  #address;
  /** Where it stood when it was last looked at, and how much was played since the change. */
  #at;
  #played = 0;
  #sought = false;

  /**
   * @param {import('./source.js').ProgressSource} source
   * @param {{ position: number, duration?: number, address?: string }} before  in seconds and milliseconds
   */
  constructor(source, { position, duration, address }) {
    this.#source = source;
    this.#position = position;
    this.#duration = duration;
    this.#address = address;
    this.#at = source.currentTime;
  }

  /** Somebody has moved it. */
  sought() {
    this.#sought = true;
  }

  /** Whether it is where it was. */
  get back() {
    return Math.abs(this.#source.currentTime - this.#position) <= NEAR_SECONDS;
  }

  /**
   * What it plays; null: that cannot be told yet.
   * @returns {'same' | 'other' | null}
   */
  verdict() {
    const { currentTime, readyState, seeking } = this.#source;
    if (seeking || readyState === 0) return null;
    this.#played += Math.max(0, currentTime - this.#at) * 1000;
    this.#at = currentTime;
    // Near the beginning is where everything begins.
    if (this.back && (this.#position > NEAR_SECONDS || this.#sameAddress() || this.#sameLength())) return 'same';
    if (!this.#sought && this.#played <= WATCHED_MS) return null;
    return this.#sameAddress() ? 'same' : 'other';
  }

  /** Where addresses are not told, the length has to do. */
  #sameAddress() {
    const { currentSrc } = this.#source;
    return currentSrc || this.#address ? currentSrc === this.#address : this.#sameLength();
  }

  #sameLength() {
    const { duration } = this.#source;
    const [before, now] = [this.#duration, duration > 0 && Number.isFinite(duration) ? duration * 1000 : undefined];
    if (before === undefined || now === undefined) return before === now;
    return Math.abs(before - now) <= SLACK_SECONDS * 1000;
  }
}
