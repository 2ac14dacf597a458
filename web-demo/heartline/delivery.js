/**
 * Carries beats from the outbox to the server until each is answered.
 *
 * Flow: `put` → outbox (stored) → frame → ack or rejection → out of the outbox. A beat is sent once on each
 * connection; it goes again only after a reconnect, or over HTTP when the page is hidden.
 *
 * Bound: at most FRAMES_MAX frames without an ack. Beyond that the outbox gathers, where a newer beat replaces an older.
 */

import { Outbox } from './outbox.js';

const FRAMES_MAX = 64;
/** A browser's budget for all its keepalive requests is 64 KiB. */
const FLUSH_BYTES_MAX = 60 * 1024;

export class Delivery {
  #connection;
  #outbox;
  #clock;
  #http;
  #device;
  #on;
  /** Keys of beats to be sent on this connection. */
  #unsent = new Set();
  /** seq → { sentAt, items: [{ key, beat, at }] }, in the order of seq. */
  #frames = new Map();
  /** Beats that were rejected: the socket and HTTP may both say so, and only the first says something new. */
  #rejected = new WeakSet();
  /** The beats on their way over HTTP, as `key@at`. */
  #flushing = new Set();
  #flag;
  #connectionId;

  /**
   * @param {object} parts  connection, outbox, clock, http
   * @param {string} device
   * @param {object} on  acked({ seq, frames }), accepted(beat), rejected({ beat, reason, record }), changed(),
   *   flag({ flag }), reward(reward), fault(message), frame(detail)
   */
  constructor({ connection, outbox, clock, http }, device, on) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#clock = clock;
    this.#http = http;
    this.#device = device;
    this.#on = on;
  }

  /** Whether an ack is due. */
  get owed() {
    return this.#frames.size > 0;
  }

  /** Stores a beat and sends it as soon as it may be. */
  put(beat) {
    const key = this.#outbox.put(beat, this.#clock.local());
    if (beat.at !== undefined) this.#unsent.add(key);
    this.#on.changed();
    this.pump();
  }

  /** The server's daily flag, of which the newest is kept and sent along: a date, which as text is in its order. */
  flag(flag) {
    if (!flag || flag <= this.#flag) return;
    this.#flag = flag;
    this.#on.flag({ flag });
  }

  /** After a welcome: everything unanswered is sent again, with its `at` and a new seq. */
  begin({ connection, flag }) {
    this.#connectionId = connection;
    this.flag(flag);
    this.#outbox.stamp(this.#clock);
    this.#unsent = new Set(this.#outbox.keys());
    this.pump();
  }

  /** After a loss: what had no ack is unanswered. */
  end() {
    this.#frames.clear();
    this.#unsent.clear();
    this.#connectionId = undefined;
  }

  pump() {
    while (this.#unsent.size > 0 && this.#frames.size < FRAMES_MAX && this.#connection.take()) {
      const keys = [...this.#unsent].slice(0, this.#connection.limits.beats);
      const items = [];
      for (const key of keys) {
        this.#unsent.delete(key);
        const beat = this.#outbox.get(key);
        if (beat) items.push({ key, beat, at: beat.at });
      }
      if (items.length === 0) continue;
      const seq = this.#connection.send('beats', { flag: this.#flag, items: items.map(({ beat }) => beat) });
      this.#frames.set(seq, { sentAt: this.#clock.local(), items });
    }
  }

  /** An ack is cumulative, and never comes before a rejection it covers. */
  ack({ seq, flag, now, rejected = [] }) {
    this.flag(flag);
    // Sent with a `clock` rejection only: the time it took is that of the frame rejected.
    if (now !== undefined) this.#clock.rebase(now, this.#frames.get(rejected.at(-1)?.seq)?.sentAt);
    for (const { seq, index, ...answer } of rejected) this.#reject(this.#frames.get(seq)?.items[index], answer);
    const frames = [];
    for (const [sent, { sentAt, items }] of this.#frames) {
      if (sent > seq) break;
      this.#frames.delete(sent);
      const beats = items.filter(item => this.#accept(item)).map(({ beat }) => beat);
      frames.push({ seq: sent, ms: this.#clock.local() - sentAt, beats });
    }
    this.#on.changed();
    if (frames.length > 0) this.#on.acked({ seq, frames });
    this.pump();
  }

  /** An error that answers a frame of beats: none of it was taken. Returns whether it was one. */
  error({ seq, code, message, retry }) {
    const frame = this.#frames.get(seq);
    if (!frame) return false;
    this.#frames.delete(seq);
    if (retry) return true;
    for (const item of frame.items) this.#reject(item, { reason: code });
    this.#on.fault(`${code}: ${message}`);
    this.#on.changed();
    return true;
  }

  /**
   * Sends what is unanswered over HTTP, the newest first, in a request that outlives the page. It stays in the outbox
   * until answered; that the socket carries the same beats is harmless.
   */
  async flush() {
    if (!this.#http.ready) return;
    const { limits } = this.#connection;
    const body = { flag: this.#flag, device: this.#device, connection: this.#connectionId, items: [] };
    const items = [];
    let room = FLUSH_BYTES_MAX - size(body);
    for (const key of this.#outbox.keys().reverse()) {
      const beat = this.#outbox.get(key);
      room -= size(beat) + 1;
      if (room < 0 || items.length === limits.beats) break;
      if (!this.#flushing.has(`${key}@${beat.at}`)) items.push({ key, beat, at: beat.at });
    }
    if (items.length === 0) return;
    body.items = items.map(({ beat }) => beat);
    const askedAt = this.#clock.local();
    const marks = items.map(({ key, at }) => `${key}@${at}`);
    for (const mark of marks) this.#flushing.add(mark);
    this.#on.frame({ direction: 'out', kind: 'POST /v1/beats', bytes: size(body), body });
    try {
      const answer = await this.#http.post('/v1/beats', body);
      this.#on.frame({ direction: 'in', kind: 'POST /v1/beats', bytes: size(answer), body: answer });
      this.#clock.rebase(answer.now, askedAt);
      this.flag(answer.flag);
      for (const { index, ...rest } of answer.rejected ?? []) this.#reject(items[index], rest);
      for (const item of items) this.#accept(item);
      for (const reward of answer.rewards ?? []) this.#on.reward(reward);
      this.#on.changed();
    } catch {
      // Not answered: it stays in the outbox, and the next connection carries it.
    } finally {
      for (const mark of marks) this.#flushing.delete(mark);
    }
  }

  #accept({ key, beat, at }) {
    if (this.#rejected.has(beat)) return false;
    this.#outbox.settle(key, at);
    this.#on.accepted(beat);
    return true;
  }

  #reject(item, { reason, record }) {
    if (!item || this.#rejected.has(item.beat)) return;
    this.#rejected.add(item.beat);
    this.#outbox.settle(item.key, item.at);
    this.#on.rejected({ beat: item.beat, reason, record });
  }
}

/** In bytes, as JSON. */
function size(value) {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}
