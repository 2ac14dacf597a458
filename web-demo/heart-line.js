/**
 * Draws a device's heart line: the video's own time moves the pen, each beat is a spike, and the dot on the spike is
 * filled when the beat is acked. Spikes made while the gateway is away stay hollow until an ack covers them.
 *
 * Bound: what has left the drawing on the left is removed.
 */

import { latency } from './text.js';

const SVG = 'http://www.w3.org/2000/svg';
const BASE = 80;              // the resting line
const PIXELS_PER_SECOND = 14; // of media
const KEPT = 1600;            // pixels of line
/** The height of the spike, by state: a change is smaller than a heartbeat of a running video. */
const HEIGHT = { playing: 40, paused: 24, seeked: 18, ended: 30 };
const SPIKE = 46;

export class HeartLine {
  #svg;
  #ink;
  #pen = 0;
  #spikes = [];
  #rests = [];
  /** The stretch of rest that still grows, until the next spike. */
  #growing = null;
  #second = null;
  #acked = 0;

  constructor(svg) {
    this.#svg = svg;
    // The inner picture has its origin at the right edge, where the pen is.
    const sheet = element('svg', { x: '100%', overflow: 'visible' });
    this.#ink = element('g', { class: 'ink' });
    const pen = element('circle', { class: 'pen', cx: -14, cy: BASE, r: 3 });
    sheet.append(this.#ink, pen);
    svg.append(sheet);
    this.#rest(KEPT);
    this.#label();
  }

  /** The video is at this second: the line runs on by what was played since. */
  moved(second) {
    const played = this.#second === null ? 0 : second - this.#second;
    this.#second = second;
    if (played > 0 && played < 2) this.#rest(played * PIXELS_PER_SECOND);
  }

  beat(beat) {
    if (this.#spikes.some(spike => spike.beat === beat)) return;  // said again as it was
    const top = BASE - HEIGHT[beat.state];
    const x = this.#pen;
    const spike = element('g', { class: 'spike', 'data-beat': beat.state, 'data-answer': '' });
    const path = element('path', {
      d: `M${x} ${BASE}h5c3 0 3-5 6-5s3 5 6 5h2l2 4 4 ${top - BASE - 4} 5 ${BASE - top + 10} 3-10h3c4 0 4-7 7-7s3 7 6 7`,
    });
    const dot = element('circle', { cx: x + 23, cy: top - 6, r: 3.5 });
    spike.append(path, dot);
    if (beat.state !== 'playing') spike.append(this.#note(x + 23, BASE + 20, beat.state));
    this.#ink.append(spike);
    this.#growing = null;
    this.#spikes.push({ beat, spike, x });
    this.#advance(SPIKE);
  }

  /** This beat is acked, and with it every earlier one of its session, for which it spoke. */
  acked(beat, milliseconds) {
    const index = this.#spikes.findIndex(spike => spike.beat === beat);
    this.#spikes.slice(0, index + 1)
      .filter(({ beat: earlier, spike }) => earlier.session === beat.session && spike.dataset.answer === '')
      .forEach(({ spike }) => this.#answer(spike, 'acked'));
    if (index >= 0) this.#noteAbove(this.#spikes[index], latency(milliseconds));
    this.#label(milliseconds);
  }

  rejected(beat, reason) {
    const found = this.#spikes.find(spike => spike.beat === beat);
    if (!found) return;
    this.#answer(found.spike, 'rejected');
    this.#noteAbove(found, reason.replace('_', ' '));
  }

  #answer(spike, answer) {
    spike.dataset.answer = answer;
    if (answer === 'acked') this.#acked += 1;
  }

  #rest(width) {
    if (!this.#growing) {
      this.#growing = { line: element('path', { class: 'rest' }), from: this.#pen };
      this.#ink.prepend(this.#growing.line);
      this.#rests.push(this.#growing);
    }
    this.#advance(width);
    const { line, from } = this.#growing;
    line.setAttribute('d', `M${from} ${BASE}H${this.#pen}`);
  }

  #advance(width) {
    this.#pen += width;
    this.#ink.style.transform = `translateX(${-14 - this.#pen}px)`;
    const edge = this.#pen - KEPT;
    while (this.#spikes[0]?.x < edge) this.#spikes.shift().spike.remove();
    while (this.#rests[1]?.from < edge) this.#rests.shift().line.remove();
  }

  #noteAbove({ spike, x, beat }, text) {
    spike.append(this.#note(x + 23, BASE - HEIGHT[beat.state] - 15, text));
  }

  #note(x, y, text) {
    const note = element('text', { x, y });
    note.textContent = text;
    return note;
  }

  #label(milliseconds) {
    const last = milliseconds === undefined ? '' : `, the last after ${latency(milliseconds)}`;
    this.#svg.setAttribute('aria-label', `Heart line: ${this.#acked} beats acknowledged${last}`);
  }
}

function element(name, attributes) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}
