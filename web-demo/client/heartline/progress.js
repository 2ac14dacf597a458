/** How far a source has come, and how much of it was played. */

/** @typedef {import('./source.js').ProgressSource} ProgressSource */

export class Progress {
  /** @type {ProgressSource} */
  #source;
  /** What was last seen of the source, in seconds and milliseconds: one that is emptied forgets both. */
  position = 0;
  /** @type {number | undefined} */
  duration = undefined;
  /** Milliseconds of media played since the playback began. */
  played = 0;

  /** @param {ProgressSource} source */
  constructor(source) {
    this.#source = source;
    this.look();
  }

  /** Counts what was played since the last look. */
  advance() {
    if (this.#source.seeking || this.#source.readyState === 0) return;
    this.played += Math.max(0, this.#source.currentTime - this.position) * 1000;
    this.look();
  }

  look() {
    const { currentTime, duration } = this.#source;
    this.position = currentTime;
    // Unknown before the metadata, and of a live stream.
    this.duration = duration > 0 && Number.isFinite(duration) ? Math.round(duration * 1000) : undefined;
  }
}
