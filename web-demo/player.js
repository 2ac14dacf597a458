/** The video of a device, with its own controls: play and pause, the seek bar, and the sound. */

import { minutes } from './text.js';

export class Player {
  #root;
  #video;
  #begin;
  /** The user has moved the paused video: it plays from there. */
  #moved = false;

  /**
   * @param {Element} root  of the device
   * @param {object} on  moved(second); asked(work): a promise of what the user asked for; begin(): where to begin when
   *   the user presses play, in milliseconds, or null: where the video stands
   */
  constructor(root, { moved, asked, begin }) {
    this.#root = root;
    this.#begin = begin;
    this.#video = this.#role('video');
    this.#role('play').addEventListener('click', () => asked(this.#toggle()));
    this.#role('sound').addEventListener('click', () => this.#switchSound());
    this.#role('seek').addEventListener('input', ({ target }) => this.#seek(target.valueAsNumber));
    this.#video.addEventListener('click', () => asked(this.#toggle()));
    for (const type of ['play', 'pause', 'ended']) this.#video.addEventListener(type, () => this.#showPlaying());
    for (const type of ['timeupdate', 'seeking', 'loadedmetadata']) {
      this.#video.addEventListener(type, () => {
        this.#showPosition();
        moved(this.#video.currentTime);
      });
    }
    this.#followFrames();
  }

  get media() {
    return this.#video;
  }

  load(src) {
    this.#moved = false;
    this.#video.src = src;
  }

  /** Plays from there, in milliseconds. */
  playFrom(position) {
    this.#video.currentTime = position / 1000;
    return this.#video.play();
  }

  close() {
    this.#video.removeAttribute('src');
    this.#video.load();
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }

  async #toggle() {
    if (!this.#video.paused) return this.#video.pause();
    const from = this.#moved ? null : this.#begin();
    await (from === null ? this.#video.play() : this.playFrom(from));
  }

  #seek(second) {
    this.#moved = this.#video.paused;
    this.#video.currentTime = second;
  }

  #switchSound() {
    this.#video.muted = !this.#video.muted;
    this.#role('sound').setAttribute('aria-pressed', String(!this.#video.muted));
  }

  #showPlaying() {
    const playing = !this.#video.paused && !this.#video.ended;
    if (playing) this.#moved = false;
    const button = this.#role('play');
    button.dataset.playing = playing;
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  }

  /** A `timeupdate` may come a quarter of a second after the picture has shown another second. */
  #followFrames() {
    this.#video.requestVideoFrameCallback?.((_, { mediaTime }) => {
      if (!this.#video.paused) this.#showPosition(mediaTime);
      this.#followFrames();
    });
  }

  #showPosition(second = this.#video.currentTime) {
    const { duration } = this.#video;
    const seek = this.#role('seek');
    if (Number.isFinite(duration)) seek.max = Math.floor(duration);
    seek.value = second;
    seek.style.setProperty('--played', second / (duration || 1));
    const shown = minutes(second * 1000);
    seek.setAttribute('aria-valuetext', `${shown} of ${minutes((duration || 0) * 1000)}`);
    this.#role('clock').textContent = shown;
  }
}
