/**
 * What a bot watches: nothing is shown, but it plays in real time and tells so by the events and properties of a media
 * element, as far as `heartline.play` looks at them.
 */

/** As often as a browser's own element says `timeupdate`. */
const TICK_MS = 250;

export class Film extends EventTarget {
  HAVE_CURRENT_DATA = 2;
  readyState = 4;
  playbackRate = 1;
  paused = true;
  seeking = false;
  ended = false;
  duration;
  #position;
  #since = 0;
  #timer;

  /** Both in seconds. */
  constructor(duration, position) {
    super();
    this.duration = duration;
    this.#position = position;
  }

  get currentTime() {
    if (this.paused) return this.#position;
    return Math.min(this.duration, this.#position + (performance.now() - this.#since) / 1000);
  }

  set currentTime(position) {
    this.#position = Math.max(0, Math.min(this.duration, position));
    this.#since = performance.now();
    this.ended = false;
    this.seeking = true;
    this.#say('seeking');
    this.seeking = false;
    this.#say('seeked');
  }

  play() {
    if (!this.paused || this.ended) return;
    this.paused = false;
    this.#since = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#say('play');
    this.#say('playing');
  }

  pause() {
    if (this.paused) return;
    this.#stand();
    this.#say('pause');
  }

  #tick() {
    this.#say('timeupdate');
    if (this.paused || this.currentTime < this.duration) return;
    this.ended = true;
    this.#stand();
    this.#say('ended');
  }

  #stand() {
    this.#position = this.currentTime;
    this.paused = true;
    clearInterval(this.#timer);
  }

  #say(type) {
    this.dispatchEvent(new Event(type));
  }
}
