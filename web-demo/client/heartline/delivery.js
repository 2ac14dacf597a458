/**
 * Carries beats from the outbox to the server until each is answered.
 *
 * Flow: `put` → outbox (stored) → frame → ack or rejection → out of the outbox. A beat is sent once on each
 * connection; it goes again only after a reconnect, or over HTTP when the page is hidden (parcel.js).
 *
 * If the server refuses a whole frame of several beats, they are sent again, each in a frame of its own: then only the
 * one that it cannot read is lost.
 *
 * Bound: at most FRAMES_MAX frames without an ack. Beyond that the outbox gathers, and thins out.
 */

import { sendable } from './beat.js';
import { Parcel } from './parcel.js';

const FRAMES_MAX = 64;

/** @typedef {import('./outbox.js').Entry} Entry */

/**
 * @typedef {object} DeliveryEvents
 * @property {(type: any, detail: any) => unknown} event  tells the application
 * @property {(beat: Beat) => void} accepted
 * @property {(detail: { beat: Beat, reason: string, record?: any, newest: boolean }) => void} rejected
 * @property {(message: string) => void} fault
 * @typedef {import('./beat.js').Beat} Beat
 */

export class Delivery {
  #connection;
  #outbox;
  #clock;
  #parcel;
  #device;
  #on;
  /** To be sent on this connection, the oldest first. @type {Set<Entry>} */
  #unsent = new Set();
  /** The beats of frames that were refused as a whole. @type {Entry[]} */
  #suspects = [];
  /** seq → { sentAt, entries }, in the order of seq. */
  /** @type {Map<number, { sentAt: number, entries: Entry[] }>} */
  #frames = new Map();
  /** What is in these frames. @type {Set<Entry>} */
  #inFlight = new Set();
  /** Beats that were rejected: the socket and HTTP may both say so, and only the first says something new. */
  #rejected = new WeakSet();
  /** @type {string | undefined} */
  #flag;
  /** @type {string | undefined} */
  #connectionId;

  /**
   * @param {object} parts
   * @param {import('./connection.js').Connection} parts.connection
   * @param {import('./outbox.js').Outbox} parts.outbox
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {import('./http.js').Http} parts.http
   * @param {string} device
   * @param {DeliveryEvents} on
   */
  constructor(parts, device, on) {
    const { connection, outbox, clock } = parts;
    this.#connection = connection;
    this.#outbox = outbox;
    this.#clock = clock;
    this.#parcel = new Parcel(parts, this, on.event);
    this.#device = device;
    this.#on = on;
  }

  /** Whether an ack is due. */
  get owed() {
    return this.#frames.size > 0;
  }

  /** Whether every beat has its answer. */
  get idle() {
    return this.#outbox.size === 0;
  }

  /**
   * Stores a beat and sends it as soon as it may be; one that is held, after `release`. Returns false for one that
   * cannot be sent.
   * @param {Beat} beat
   */
  put(beat, held = false) {
    if (!sendable(beat)) {
      this.#on.fault(`this position cannot be stored, and is left out: ${JSON.stringify(beat)}`);
      return false;
    }
    const entry = this.#outbox.put(beat, this.#clock.local(), held);
    if (!held) this.#add(entry);
    this.#changed();
    this.pump();
    return true;
  }

  /** What was held of this content may be sent. @param {import('./beat.js').Content} content */
  release(content) {
    for (const entry of this.#outbox.release(content)) this.#add(entry);
    this.pump();
  }

  /**
   * The server's daily flag, of which the newest is kept and sent along: a date, which as text is in its order.
   * @param {string | undefined} flag
   */
  flag(flag) {
    if (!flag || flag <= (this.#flag || '')) return;
    this.#flag = flag;
    this.#on.event('flag', { flag });
  }

  /** After a welcome: everything unanswered is sent again, with its `at` and a new seq. @param {any} parts */
  begin({ connection, flag }) {
    this.#connectionId = connection;
    this.flag(flag);
    this.#outbox.stamp(this.#clock);
    this.#unsent = new Set(this.#outbox.entries());
    this.pump();
  }

  /** After a loss: what had no ack is unanswered. */
  end() {
    this.#frames.clear();
    this.#inFlight.clear();
    this.#unsent.clear();
    this.#suspects = [];
    this.#connectionId = undefined;
  }

  pump() {
    this.#suspects = this.#suspects.filter(entry => this.#outbox.has(entry));
    // A valid frame after each: three that are refused in a row would be the end of the connection.
    while (this.#suspects.length > 0 && this.#mayCarry(2)) {
      this.#send(this.#suspects.splice(0, 1));
      this.#connection.sayHello();
    }
    for (const entry of this.#unsent) if (!this.#outbox.has(entry)) this.#unsent.delete(entry);
    while (this.#unsent.size > 0 && this.#mayCarry(1)) {
      const entries = [...this.#unsent].slice(0, this.#connection.limits.beats);
      for (const entry of entries) this.#unsent.delete(entry);
      this.#send(entries);
    }
  }

  /** An ack is cumulative, and never comes before a rejection it covers. @param {any} parts */
  ack({ seq, flag, now, rejected = [] }) {
    this.flag(flag);
    // Sent with a `clock` rejection only: the time it took is that of the frame rejected.
    const { seq: last } = rejected[rejected.length - 1] || {};
    if (now !== undefined) this.#clock.rebase(now, this.#frames.get(last)?.sentAt);
    for (const { seq, index, ...answer } of rejected) this.#reject(this.#frames.get(seq)?.entries[index], answer);
    const frames = [];
    for (const [sent, { sentAt, entries }] of this.#frames) {
      if (sent > seq) break;
      this.#forget(sent);
      const beats = entries.filter(entry => this.#accept(entry)).map(({ beat }) => beat);
      frames.push({ seq: sent, ms: this.#clock.local() - sentAt, beats });
    }
    this.#changed();
    if (frames.length > 0) this.#on.event('acked', { seq, frames });
    this.pump();
  }

  /** An error that answers a frame of beats: none of it was taken. Returns whether it was one. @param {any} parts */
  error({ seq, code, message, retry }) {
    const frame = this.#frames.get(seq);
    if (!frame) return false;
    this.#forget(seq);
    if (retry) return true;
    if (frame.entries.length > 1) {
      this.#suspects.push(...frame.entries);
    } else {
      this.#reject(frame.entries[0], { reason: code });
      this.#on.fault(`${code}: ${message}; left out: ${JSON.stringify(frame.entries[0].beat)}`);
      this.#changed();
    }
    this.pump();
    return true;
  }

  /** Sends what is unanswered over HTTP, in a request that outlives the page. */
  flush() {
    return this.#parcel.send({ outlives: true });
  }

  /** The same in place of the socket. Returns whether it was answered, null if nothing was to be sent. */
  post() {
    return this.#parcel.send();
  }

  /** Asks for the server's time, if it is not known. Returns whether it is. */
  async learnTime() {
    return this.#clock.known || await this.#parcel.send({ empty: true }) === true;
  }

  /** What a request says besides its beats. */
  get greeting() {
    return { flag: this.#flag, device: this.#device, connection: this.#connectionId };
  }

  /**
   * What `POST /v1/beats` says of these entries.
   * @param {any} answer
   * @param {Entry[]} entries  the newest first
   */
  answered(answer, entries) {
    this.#outbox.stamp(this.#clock);
    this.flag(answer.flag);
    // The oldest first, as over the socket.
    const rejected = [...answer.rejected || []].sort((one, other) => other.index - one.index);
    for (const { index, ...rest } of rejected) this.#reject(entries[index], rest);
    for (const entry of [...entries].reverse()) this.#accept(entry);
    for (const reward of answer.rewards || []) this.#on.event('reward', reward);
    this.#changed();
  }

  #changed() {
    this.#on.event('outbox', { size: this.#outbox.size });
  }

  /** Without a connection everything waits for the next welcome. @param {Entry} entry */
  #add(entry) {
    if (this.#connection.ready && entry.beat.at !== undefined && !this.#inFlight.has(entry)) this.#unsent.add(entry);
  }

  /** @param {number} frames */
  #mayCarry(frames) {
    return this.#frames.size < FRAMES_MAX && this.#connection.take(frames);
  }

  /** @param {Entry[]} entries */
  #send(entries) {
    const items = entries.map(({ beat }) => beat);
    const seq = this.#connection.send('beats', { flag: this.#flag, items });
    for (const entry of entries) this.#inFlight.add(entry);
    this.#frames.set(seq, { sentAt: this.#clock.local(), entries });
  }

  /** @param {number} seq */
  #forget(seq) {
    const { entries = [] } = this.#frames.get(seq) || {};
    for (const entry of entries) this.#inFlight.delete(entry);
    this.#frames.delete(seq);
  }

  /** @param {any} parts */
  #accept({ key, beat }) {
    if (this.#rejected.has(beat)) return false;
    this.#outbox.settle(key, beat.at);
    this.#on.accepted(beat);
    return true;
  }

  /**
   * @param {Entry | undefined} entry
   * @param {any} answer
   */
  #reject(entry, { reason, record }) {
    if (!entry || this.#rejected.has(entry.beat)) return;
    this.#rejected.add(entry.beat);
    const newest = this.#outbox.isNewest(entry);
    this.#outbox.settle(entry.key, entry.beat.at);
    this.#on.rejected({ beat: entry.beat, reason, record, newest });
  }
}
