/**
 * The swarm: bots that are users of their own, spread over a few workers. Here they are only counted; what they do is in
 * swarm/worker.js and below.
 *
 * Bound: BOTS_MAX bots, since Firefox holds 200 sockets in all and Chromium 255 to one host, the page's own included.
 *
 * Events, both CustomEvents:
 *   acks   { at, times }   some acks came: when (milliseconds of the epoch), and how long each took (milliseconds)
 *   tally  all numbers of swarm/tally.js, of all workers together
 */

import { add, tally } from './swarm/tally.js';

export const BOTS_MAX = 180;
const WORKERS = 3;
/** The users of one page follow each other from a random one on, far from those that the page shows by name. */
const FIRST_USER = 1_000_000_000_000;
const BLOCK = 1_000;

export class Swarm extends EventTarget {
  #workers = [];
  #tallies = [];
  #size = 0;
  #ackDelay = 0;
  #firstUser = FIRST_USER + crypto.getRandomValues(new Uint32Array(1))[0] * BLOCK;
  #readBacks = new Map();
  #readBackNumber = 0;

  /** How many bots there shall be. */
  resize(size) {
    this.#size = Math.max(0, Math.min(BOTS_MAX, size));
    if (this.#workers.length === 0 && this.#size > 0) this.#startWorkers();
    this.#order();
  }

  /** How late the acks of steady beats may come, in milliseconds. */
  set ackDelay(milliseconds) {
    this.#ackDelay = milliseconds;
    this.#order();
  }

  /** Every bot drags along the bar of its film. */
  scrub() {
    this.#post({ scrub: true });
  }

  /** Asks the server for everything that was acked: { asked, kept } positions, { bots, silent } who could ask or not. */
  async readBack() {
    const number = this.#readBackNumber++;
    const answers = this.#workers.map((_, worker) => new Promise(resolve => {
      this.#readBacks.set(`${number}/${worker}`, resolve);
    }));
    this.#post({ readBack: number });
    const sum = { asked: 0, kept: 0, bots: 0, silent: 0 };
    for (const answer of await Promise.all(answers)) {
      for (const name of Object.keys(sum)) sum[name] += answer[name];
    }
    return sum;
  }

  #startWorkers() {
    for (let index = 0; index < WORKERS; index++) {
      const worker = new Worker(new URL('./swarm/worker.js', import.meta.url), { type: 'module' });
      worker.onmessage = ({ data }) => this.#heard(index, data);
      this.#workers.push(worker);
      this.#tallies.push(tally());
    }
  }

  #order() {
    const all = Array.from({ length: this.#size }, (_, index) => ({ index, user: String(this.#firstUser + index) }));
    for (const [number, worker] of this.#workers.entries()) {
      const bots = all.filter(({ index }) => index % WORKERS === number);
      worker.postMessage({ bots, ackDelay: this.#ackDelay });
    }
  }

  #post(message) {
    for (const worker of this.#workers) worker.postMessage(message);
  }

  #heard(worker, { tally: numbers, acks, readBack, ...answer }) {
    if (readBack !== undefined) {
      const key = `${readBack}/${worker}`;
      this.#readBacks.get(key)(answer);
      this.#readBacks.delete(key);
      return;
    }
    this.#tallies[worker] = numbers;
    if (acks.times.length > 0) this.#emit('acks', acks);
    this.#emit('tally', this.#tallies.reduce(add, tally()));
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
