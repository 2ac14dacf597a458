// A media element as far as the SDK looks at it. It plays only when it is told how much was played.
export class Media extends EventTarget {
  readyState = 4;
  playbackRate = 1;
  paused = true;
  seeking = false;
  ended = false;
  duration = 600;
  currentSrc = 'one.mp4';
  #position = 0;

  get currentTime() {
    return this.#position;
  }

  // As in a browser, whoever sets it.
  set currentTime(second) {
    this.seeking = true;
    this.#position = second;
    this.say('seeking');
    this.seeking = false;
    this.say('seeked');
  }

  play() {
    this.paused = false;
    this.say('play', 'playing');
  }

  // In seconds.
  advance(seconds) {
    this.#position += seconds;
    this.say('timeupdate');
  }

  pause() {
    this.paused = true;
    this.say('pause');
  }

  seek(second) {
    this.currentTime = second;
  }

  // Begins to load something, or the same once more, from its beginning; `loaded` ends that.
  load(src = this.currentSrc) {
    this.currentSrc = src;
    this.readyState = 0;
    this.duration = NaN;
    this.#position = 0;
    this.say('emptied');
  }

  loaded(duration = 600) {
    this.readyState = 4;
    this.duration = duration;
    this.say('durationchange', 'loadedmetadata');
  }

  say(...types) {
    for (const type of types) this.dispatchEvent(new Event(type));
  }
}
