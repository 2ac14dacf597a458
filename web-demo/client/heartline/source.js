/**
 * What `play` and `resume` need of what they follow. Every media element is one: `<video>`, `<audio>`, and the elements
 * of players that behave like them.
 */

/**
 * @typedef {object} ProgressSource
 * @property {number} currentTime  the position, in seconds; `resume` sets it
 * @property {number} duration  the length, in seconds; NaN or Infinity while it is not known
 * @property {boolean} paused  whether it stands still because the viewer wants it to
 * @property {number} [playbackRate]  1 unless given
 * @property {boolean} [seeking]  between `seeking` and `seeked`
 * @property {boolean} [ended]  it has come to its end, and stands there
 * @property {number} [readyState]  as of a media element: 0 until the length is known and the position can be set,
 *   which `loadedmetadata` tells; a source without it can be set at any time
 * @property {string} [currentSrc]  names what is played
 * @property {(type: string, listener: (event: any) => void) => void} addEventListener
 * @property {(type: string, listener: (event: any) => void) => void} removeEventListener
 */

/** Below it a media element does not play yet, whatever was asked of it. */
const HAVE_FUTURE_DATA = 3;
/** By so much the length of one file differs from another's of the same content. */
export const SLACK_SECONDS = 1;

/**
 * Whether it plays now.
 * @param {ProgressSource} source
 */
export function plays({ paused, readyState = HAVE_FUTURE_DATA }) {
  return !paused && readyState >= HAVE_FUTURE_DATA;
}

/**
 * Whether its position can be set to that. What is shorter may be an advertisement that comes first.
 * @param {ProgressSource} source
 * @param {number} seconds
 */
export function canSeek({ readyState = HAVE_FUTURE_DATA, duration }, seconds) {
  return readyState > 0 && !(duration + SLACK_SECONDS < seconds);
}

/** Listeners of one source, which are let go together. */
export class Listeners {
  #source;
  /** @type {[string, (event: any) => void][]} */
  #all = [];

  /** @param {ProgressSource} source */
  constructor(source) {
    this.#source = source;
  }

  /**
   * @param {string} type
   * @param {(event: any) => void} act
   */
  listen(type, act) {
    this.#all.push([type, act]);
    this.#source.addEventListener(type, act);
  }

  end() {
    for (const [type, act] of this.#all.splice(0)) this.#source.removeEventListener(type, act);
  }
}
