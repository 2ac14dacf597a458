/**
 * Makes the beats of one playback: gives each its session, its time and what was watched until then.
 *
 * A session is one playback. It ends with the media, and when the server's clock turns out to be far behind what the
 * session has used already.
 */

/** @typedef {import('./beat.js').Beat} Beat */

/** A session whose last `at` is further ahead of the clock than this cannot go on. */
const AHEAD_MS_MAX = 5_000;
/** What a beat says, besides when. */
const TOLD = /** @type {const} */ (['pos', 'dur', 'state', 'session', 'watched', 'rate']);

export class Reporter {
  #source;
  #content;
  #progress;
  #clock;
  #began;
  /** What of the time played the server has, and what the current session does not count since an earlier one did. */
  #accepted = 0;
  #counted = 0;
  /** @type {Beat | null} */
  #last = null;
  #madeAt = -Infinity;
  #lastRejected = false;

  /** The current session's id. */
  session = newSession();

  /**
   * @param {object} parts
   * @param {import('./source.js').ProgressSource} parts.source
   * @param {import('./beat.js').Content} parts.content
   * @param {import('./progress.js').Progress} parts.progress
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {(session: string) => void} began  a session has begun
   */
  constructor({ source, content, progress, clock }, began) {
    this.#source = source;
    this.#content = content;
    this.#progress = progress;
    this.#clock = clock;
    this.#began = began;
    began(this.session);
  }

  /** The newest beat; null before the first. */
  get newest() {
    return this.#last;
  }

  /** Whether so many milliseconds have passed since the last beat, or there was none. @param {number} interval */
  due(interval) {
    return this.#clock.local() - this.#madeAt >= interval;
  }

  /** The server has this beat: what was played until then is counted. @param {import('./beat.js').Beat} beat */
  accepted(beat) {
    if (beat.session === this.session) this.#accepted = Math.max(this.#accepted, this.#counted + beat.watched);
  }

  /** The server refused this beat. Returns whether it was the newest. @param {import('./beat.js').Beat} beat */
  rejected(beat) {
    if (beat !== this.#last) return false;
    this.#lastRejected = true;
    return true;
  }

  /** Begins a session that counts from here: the media is played once more, or from elsewhere. */
  restart() {
    this.#progress.played = this.#accepted = 0;
    this.#newSession();
  }

  /**
   * Returns the beat to tell: a new one, or the last one if there is nothing new to say; null if nothing is to be told.
   * @param {Beat['state']} state
   */
  make(state, { anew = false } = {}) {
    // Without the server's clock yet the beat gets its `at` later, at the welcome.
    const now = this.#clock.known ? this.#clock.now() : undefined;
    const { at: lastAt = 0 } = this.#last || {};
    const ahead = now !== undefined && lastAt - now > AHEAD_MS_MAX;
    if (ahead) this.#newSession();
    const beat = this.#beat(state);
    // A start that failed says nothing about where the user was; the server would answer `not_started`.
    if (beat.watched === 0) return null;
    this.#madeAt = this.#clock.local();
    if (!anew && this.#repeats(beat)) return this.#lastRejected ? null : this.#last;
    // Where a rebase took the clock back only a little, `at` goes on by single milliseconds.
    if (now !== undefined) beat.at = ahead ? now : Math.max(now, lastAt + 1);
    this.#last = beat;
    this.#lastRejected = false;
    return beat;
  }

  /** @returns {Beat} @param {Beat['state']} state */
  #beat(state) {
    return {
      ...this.#content,
      pos: Math.round(this.#progress.position * 1000),
      dur: this.#progress.duration,
      state,
      session: this.session,
      watched: Math.round(this.#progress.played) - this.#counted,
      rate: this.#source.playbackRate ?? 1,
    };
  }

  /**
   * Nothing new to say: then the last beat is said again as it is, for a new `at` would claim a newer position.
   * @param {import('./beat.js').Beat} beat
   */
  #repeats(beat) {
    const last = this.#last;
    return last !== null && TOLD.every(name => last[name] === beat[name]);
  }

  #newSession() {
    this.session = newSession();
    this.#counted = this.#accepted;
    this.#began(this.session);
  }
}

/** An id that no other playback has: a random number of 19 digits. */
export function newSession() {
  const halves = new Uint32Array(2);
  if (globalThis.crypto && globalThis.crypto.getRandomValues) globalThis.crypto.getRandomValues(halves);
  else halves.forEach((_, index) => { halves[index] = Math.random() * 2 ** 32; });
  return `${1e9 + halves[0] % 1e9}${String(halves[1] % 1e9).padStart(9, '0')}`;
}
