// A media element as far as the SDK looks at it. It plays only when it is told how much was played.
export class Media extends EventTarget {
  HAVE_CURRENT_DATA = 2;
  readyState = 4;
  playbackRate = 1;
  paused = true;
  seeking = false;
  ended = false;
  duration = 600;
  currentTime = 0;

  play() {
    this.paused = false;
    this.#say('play', 'playing');
  }

  // In seconds.
  advance(seconds) {
    this.currentTime += seconds;
    this.#say('timeupdate');
  }

  pause() {
    this.paused = true;
    this.#say('pause');
  }

  seek(second) {
    this.seeking = true;
    this.currentTime = second;
    this.#say('seeking');
    this.seeking = false;
    this.#say('seeked');
  }

  #say(...types) {
    for (const type of types) this.dispatchEvent(new Event(type));
  }
}
