/**
 * One user of the swarm: a client of its own with a socket of its own, that watches one film after another. It makes
 * its beats as any player does, and believes nothing to be kept but what was acked.
 */

import { keeps } from '../acked-positions.js';
import { isAway } from '../demo-token.js';
import { Heartline } from '../client/heartline.js';
import { Film } from './film.js';
import { LATE_MS } from './tally.js';

const KIND = 1;
/** The films there are: so many, from this oid on. */
const FILMS = 500;
const FIRST_FILM = 1_000;
const FILM_SECONDS = [40, 160];
/** How long a bot watches before it pauses, and how long it then does. */
const WATCHING_MS = [20_000, 90_000];
const PAUSED_MS = [1_000, 5_000];
/** A viewer drags the seek bar: so many seeks at once. */
const SCRUBS = 10;
/** How long one that leaves waits for the ack of its last beat: long, since a busy server may hold it back. */
const FAREWELL_MS_MAX = 30_000;

export class Bot {
  #client;
  #film;
  #playback;
  #positions;
  #changed;
  #acked;
  #timer;
  #leaving = false;
  /** seq → beats in the frame. */
  #unacked = new Map();
  #online = false;
  #counts = { sent: 0, acked: 0, rejected: 0, late: 0, acks: 0, lost: 0, back: 0, failed: 0, errors: 0 };
  #delay = 0;

  /**
   * @param {object} who  user, getToken, ackDelay, positions
   * @param {object} on  acked(times in ms), changed()
   */
  constructor({ user, getToken, ackDelay, positions }, { acked, changed }) {
    this.#positions = positions;
    this.#acked = acked;
    this.#changed = changed;
    this.#client = new Heartline({ user, getToken, ackDelay, device: 'bot', storage: null, fallback: false });
    const on = (type, act) => this.#client.addEventListener(type, ({ detail }) => {
      act(detail);
      this.#changed();
    });
    on('state', detail => this.#stateChanged(detail));
    on('frame', frame => this.#passed(frame));
    on('acked', ({ frames }) => this.#answered(frames));
    on('rejected', () => { this.#counts.rejected += 1; });
    this.#client.addEventListener('fault', event => {
      if (isAway(event.detail)) return event.preventDefault();
      this.#counts.errors += 1;
      this.#changed();
    });
  }

  get tally() {
    const { state, unanswered } = this.#client;
    const inFlight = [...this.#unacked.values()].reduce((sum, beats) => sum + beats, 0);
    const waiting = Number(state === 'waiting');
    const online = Number(this.#online);
    return { bots: 1, online, waiting, inFlight, unanswered, ...this.#counts, delay: this.#delay };
  }

  set ackDelay(milliseconds) {
    this.#client.ackDelay = milliseconds;
  }

  enter() {
    this.#client.connect();
    this.#watch();
  }

  /** Stops watching, waits until that is acked, and closes the socket. */
  async leave() {
    this.#leaving = true;
    clearTimeout(this.#timer);
    this.#film.pause();
    this.#playback.stop();
    if (this.#client.state === 'online' && this.#client.unanswered > 0) await this.#settled();
    this.#client.disconnect();
  }

  scrub() {
    if (this.#leaving || this.#film.ended) return;
    for (let seek = 0; seek < SCRUBS; seek++) this.#film.currentTime = Math.random() * this.#film.duration;
  }

  /** Reads back what was acked; null: it could not be asked. */
  async readBack() {
    const beats = this.#positions.beats;
    if (this.#client.state !== 'online') return null;
    try {
      const records = beats.length > 0 ? await this.#client.get(beats) : [];
      return { asked: beats.length, kept: beats.filter((beat, index) => keeps(records[index], beat)).length };
    } catch {
      return null;
    }
  }

  // What it watches.

  #watch() {
    const seconds = between(...FILM_SECONDS);
    this.#film = new Film(seconds, between(0, seconds / 2));
    const oid = FIRST_FILM + Math.floor(Math.random() * FILMS);
    this.#playback = this.#client.play(this.#film, { kind: KIND, oid });
    this.#film.addEventListener('ended', () => this.#later(PAUSED_MS, () => this.#watchAnother()));
    this.#film.play();
    this.#later(WATCHING_MS, () => this.#rest());
  }

  #watchAnother() {
    this.#playback.stop();
    this.#watch();
  }

  #rest() {
    this.#film.pause();
    this.#later(PAUSED_MS, () => {
      this.#film.play();
      this.#later(WATCHING_MS, () => this.#rest());
    });
  }

  #later(range, act) {
    clearTimeout(this.#timer);
    if (!this.#leaving) this.#timer = setTimeout(act, between(...range));
  }

  #settled() {
    return new Promise(resolve => {
      const client = this.#client;
      const look = () => {
        if (client.unanswered === 0 || client.state !== 'online') resolve();
      };
      client.addEventListener('outbox', look);
      client.addEventListener('state', look);
      setTimeout(resolve, FAREWELL_MS_MAX);
    });
  }

  // What its client says.

  #stateChanged({ state, delay = 0 }) {
    if (state !== 'online') this.#unacked.clear();
    if (state === 'online' && this.#counts.lost > 0) this.#counts.back += 1;
    if (state === 'waiting') this.#counts[this.#online ? 'lost' : 'failed'] += 1;
    if (state === 'stopped') this.#counts.errors += 1;
    this.#online = state === 'online';
    this.#delay = delay;
  }

  #passed({ direction, kind, seq, body }) {
    if (direction === 'in' && kind === 'ack') this.#counts.acks += 1;
    if (direction === 'in' && kind === 'error') this.#unacked.delete(seq);
    if (direction !== 'out' || kind !== 'beats') return;
    this.#counts.sent += body.items.length;
    this.#unacked.set(seq, body.items.length);
  }

  #answered(frames) {
    for (const { seq, ms, beats } of frames) {
      this.#unacked.delete(seq);
      this.#counts.acked += beats.length;
      if (ms > LATE_MS) this.#counts.late += beats.length;
      for (const beat of beats) this.#positions.acked(beat);
    }
    this.#acked(frames.map(({ ms }) => ms));
  }
}

function between(least, most) {
  return least + Math.random() * (most - least);
}
