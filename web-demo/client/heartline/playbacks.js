/** The playbacks of one client, by what they follow; and which of its sessions are its own. */

import { unharmed } from './emitter.js';
import { Places } from './places.js';
import { Playback } from './playback.js';

/** Of the sessions made here, so many are remembered. */
const SESSIONS_MAX = 256;

/**
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {import('./source.js').ProgressSource} ProgressSource
 */

/**
 * @typedef {object} PlaybackEvents
 * @property {() => number} interval  asks for the milliseconds between two beats
 * @property {(beat: Beat, held: boolean) => void} made
 * @property {(content: Content) => void} release  what was held of it may be sent
 * @property {(contents: Content[]) => Promise<import('./history.js').Found>} ask
 * @property {() => boolean} reachable  asks whether the gateway can be asked
 * @property {() => void} action  the viewer has acted
 * @property {(type: any, detail: any) => unknown} event  tells the application
 * @property {(message: string) => void} fault
 * @typedef {import('./beat.js').Beat} Beat
 */

export class Playbacks {
  #clock;
  #on;
  #places;
  /** @type {Map<ProgressSource, Playback>} */
  #all = new Map();
  /** Sessions made here, newest last: what they did is not "elsewhere". @type {Set<string>} */
  #sessions = new Set();

  /**
   * @param {object} parts
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {import('./outbox.js').Outbox} parts.outbox
   * @param {PlaybackEvents} on
   */
  constructor({ clock, outbox }, on) {
    this.#clock = clock;
    this.#on = on;
    this.#places = new Places(outbox, on);
  }

  /**
   * Follows a source from now on, in place of what followed it.
   * @param {ProgressSource} source
   * @param {Content} content  checked
   * @param {{ held?: boolean, onOffer?: (record: StoredRecord) => void }} [options]
   */
  begin(source, content, { held = false, onOffer = () => {} } = {}) {
    const before = this.#all.get(source);
    if (before) before.end('replaced');
    const playback = new Playback(source, content, this.#clock, {
      interval: () => this.#on.interval(),
      made: (beat, isHeld) => this.#on.made(beat, isHeld),
      session: id => this.own(id),
      action: () => this.#on.action(),
      offer: record => unharmed(() => onOffer(record)),
      released: () => {
        this.#on.release(content);
        this.#places.forget(playback);
      },
      stopped: reason => {
        this.#all.delete(source);
        this.#places.forget(playback);
        this.#on.event('unbound', { content, reason });
      },
    }, { held });
    this.#all.set(source, playback);
    if (held) this.#places.find(playback);
    return playback;
  }

  /** Remembers a session that was made here. @param {string} session */
  own(session) {
    this.#sessions.add(session);
    if (this.#sessions.size > SESSIONS_MAX) this.#sessions.delete([...this.#sessions][0]);
  }

  /** The page is being hidden. */
  hide() {
    for (const playback of this.#all.values()) playback.hide();
  }

  /** The end of the client. */
  close() {
    for (const playback of [...this.#all.values()]) playback.end('closed');
  }

  /** The gateway can be asked, now or again. */
  reachable() {
    this.#places.reachable();
  }

  /** @param {Beat} beat */
  accepted(beat) {
    for (const playback of this.#all.values()) playback.accepted(beat);
  }

  /**
   * Returns whether the beat is of one of them.
   * @param {Beat} beat
   * @param {string} reason
   * @param {StoredRecord | null} record
   */
  rejected(beat, reason, record) {
    const playback = [...this.#all.values()].find(({ session }) => session === beat.session);
    if (!playback) return false;
    playback.rejected(beat, reason);
    if (reason === 'superseded' && record) this.#tellElsewhere(playback, record, true);
    return true;
  }

  /** Another device of the user has stored this. @param {StoredRecord} record */
  moved(record) {
    for (const playback of [...this.#all.values()]) this.#tellElsewhere(playback, record);
  }

  /**
   * @param {import('./playback.js').Playback} playback
   * @param {StoredRecord} record
   */
  #tellElsewhere(playback, record, superseded = false) {
    if (this.#sessions.has(record.session) || !playback.takenOver(record, superseded)) return;
    playback.untouched(() => this.#on.event('elsewhere', { beat: playback.newest, record }));
  }
}
