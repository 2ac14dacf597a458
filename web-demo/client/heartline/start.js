/**
 * The start of a playback: where the viewer was, and how the source gets there. A playback that `resume` began is held
 * until that is known.
 *
 * A viewer who has moved meanwhile is where they want to be, and what is found is offered to them.
 */

import { canSeek } from './source.js';

/** A viewer who has watched so much has not merely let it run, and one who has seeked so far has moved. */
const MOVED_PLAYED_MS = 5_000;
const MOVED_SECONDS = 1;

/** @typedef {import('./beat.js').StoredRecord} StoredRecord */

/**
 * @typedef {object} Place  Where the viewer was.
 * @property {StoredRecord | null} record  the newest that is known of the content
 * @property {StoredRecord | null} [other]  what the gateway has instead, if `record` is this client's own and newer
 */

export class Start {
  #source;
  #progress;
  /** @type {Place | null} */
  #found = null;
  /** Where the viewer was, in seconds, until the first beat says that they are there. @type {number | null} */
  #goal = null;
  /** Where a seek of ours goes, in seconds, until it is there. @type {number | null} */
  #ownSeek = null;

  /** It is not known yet where the viewer was, or the source cannot go there yet. */
  held;
  /** The viewer has moved since the playback began. */
  moved = false;

  /**
   * @param {import('./source.js').ProgressSource} source
   * @param {import('./progress.js').Progress} progress
   * @param {boolean} held
   */
  constructor(source, progress, held) {
    this.#source = source;
    this.#progress = progress;
    this.held = held;
    // Who resumes what plays on somewhere has left the beginning already.
    if (!source.paused && progress.position * 1000 > MOVED_PLAYED_MS) this.moved = true;
  }

  /** Whether it is still to be told where the viewer was. */
  get asks() {
    return this.held && !this.#found;
  }

  /** Whether beats may be made. */
  get speaks() {
    return !this.held || this.moved;
  }

  /** @param {Place} place */
  known(place) {
    this.#found = place;
  }

  /**
   * Ends the hold, once it is known where the viewer was and the source can go there; null until then. `goes`: it is on
   * its way. `offers`: to be offered.
   * @returns {{ record: StoredRecord | null, goes: boolean, offers: StoredRecord[] } | null}
   */
  decide() {
    if (!this.#found) return null;
    const { record, other = null } = this.#found;
    const goes = !this.moved && record !== null && record.resume > 0;
    if (goes && !canSeek(this.#source, record.resume / 1000)) return null;
    this.#found = null;
    this.held = false;
    if (goes) this.#go(record.resume / 1000);
    const offers = /** @type {StoredRecord[]} */ ([goes ? null : record, other].filter(Boolean));
    return { record, goes, offers: offers.filter(({ resume }) => resume > 0) };
  }

  /** The source was given something else before the first beat. Returns whether it goes to the start once more. */
  again() {
    if (this.#goal === null || !canSeek(this.#source, this.#goal)) return false;
    this.#go(this.#goal);
    return true;
  }

  /** So much was played. */
  played() {
    if (this.held && this.#progress.played > MOVED_PLAYED_MS) this.moved = true;
  }

  /** A seek has begun, from there. Returns whether it is ours. @param {number} from */
  seeks(from) {
    const { position } = this.#progress;
    if (this.#ownSeek !== null && Math.abs(position - this.#ownSeek) < MOVED_SECONDS) return true;
    this.#goal = this.#ownSeek = null;
    if (Math.abs(position - from) >= MOVED_SECONDS) this.moved = true;
    return false;
  }

  /** A seek has ended. Returns whether it was ours. */
  landed() {
    const own = this.#ownSeek !== null;
    this.#ownSeek = null;
    return own;
  }

  /** A beat was made: from now on it tells where the viewer is. */
  said() {
    this.#goal = null;
  }

  /** @param {number} seconds */
  #go(seconds) {
    this.#goal = this.#ownSeek = seconds;
    this.#source.currentTime = seconds;
    this.#progress.look();
  }
}
