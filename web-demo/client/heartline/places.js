/**
 * Finds out where the viewer was in what is resumed: asks the gateway until it answers, and compares that with the
 * beats of the content that it does not have yet. The newest counts.
 *
 * Also looks after beats that were held for a playback that is over (leftovers.js, which few pages need).
 */

import { contentKey, isNewer, resumeOf } from './beat.js';

const RETRY_MS_FIRST = 1_000;
const RETRY_MS_MAX = 30_000;

/**
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {import('./playback.js').Playback} Playback
 */

export class Places {
  #outbox;
  #on;
  /**
   * Playbacks that are held, also once they have their answer.
   * @type {Map<Playback, { asking: boolean, retries: number, timer?: any }>}
   */
  #waiting = new Map();

  /**
   * @param {import('./outbox.js').Outbox} outbox
   * @param {object} on
   * @param {(contents: Content[]) => Promise<{ records: (StoredRecord | null)[], partial?: boolean }>} on.ask
   * @param {() => boolean} on.reachable  whether an answer can be expected
   * @param {(content: Content) => void} on.release
   * @param {(message: string) => void} on.fault
   */
  constructor(outbox, on) {
    this.#outbox = outbox;
    this.#on = on;
  }

  /** @param {Playback} playback */
  find(playback) {
    this.#waiting.set(playback, { asking: false, retries: 0 });
    this.#ask(playback);
  }

  /** The playback is over, or no longer held. @param {import('./playback.js').Playback} playback */
  forget(playback) {
    const search = this.#waiting.get(playback);
    if (!search) return;
    clearTimeout(search.timer);
    this.#waiting.delete(playback);
    this.#lookAfter();
  }

  /** The gateway can be asked, now or again. */
  reachable() {
    for (const playback of this.#waiting.keys()) this.#ask(playback);
    this.#lookAfter();
  }

  /** @param {Playback} playback */
  async #ask(playback) {
    const search = this.#waiting.get(playback);
    if (!search || search.asking || !playback.asks) return;
    clearTimeout(search.timer);
    search.asking = true;
    const answer = await this.#answer([playback.content]);
    search.asking = false;
    if (this.#waiting.get(playback) !== search) return;
    if (!answer || (answer.partial && !answer.records[0])) return this.#askLater(playback, search);
    playback.known(this.#newest(playback, answer.records[0]));
  }

  /**
   * Without an answer it is asked again: after a while, or as soon as the gateway can be reached.
   * @param {import('./playback.js').Playback} playback
   * @param {any} search
   */
  #askLater(playback, search) {
    if (!this.#on.reachable()) return;
    const wait = Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** search.retries++);
    search.timer = setTimeout(() => this.#ask(playback), wait);
  }

  /** @param {any} contents */
  async #answer(contents) {
    try {
      return await this.#on.ask(contents);
    } catch (/** @type {any} */ error) {
      if (!error.retry && error.code !== 'offline') this.#on.fault(`the position was not told: ${error.message}`);
      return null;
    }
  }

  /**
   * @returns {import('./start.js').Place}
   * @param {any} parts
   * @param {import('./beat.js').StoredRecord | null} record
   */
  #newest({ content, session }, record) {
    const others = this.#outbox.newestOf(content).filter(beat => beat.session !== session);
    const [own] = others.sort((one, other) => (isNewer(one, other) ? -1 : 1));
    if (!own || (record && !isNewer(own, record))) return { record };
    // What was held is newer, but its viewer did not know of the record.
    const unseen = this.#outbox.held.some(beat => beat.session === own.session);
    return { record: { ...own, at: own.at || 0, resume: resumeOf(own) }, other: unseen ? record : null };
  }

  async #lookAfter() {
    const left = this.#outbox.held.filter(beat => !this.#resumes(beat));
    if (left.length === 0 || !this.#on.reachable()) return;
    // Where the module cannot be loaded, the next time that the gateway can be reached will do.
    const leftovers = await import('./leftovers.js').catch(() => null);
    if (!leftovers) return;
    const released = await leftovers.toRelease(left, contents => this.#answer(contents));
    for (const beat of released) if (!this.#resumes(beat)) this.#on.release(beat);
  }

  /** @param {import('./beat.js').Content} content */
  #resumes(content) {
    return [...this.#waiting.keys()].some(playback => contentKey(playback.content) === contentKey(content));
  }
}
