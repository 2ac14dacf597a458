/**
 * Follows one source and tells its beats: at every start, pause, seek, end and hide, and once per interval while it plays.
 * Its only clock for that is the source's own `timeupdate`: what does not play, or stalls, does not beat.
 *
 * A playback that `resume` began is held until it is known where the viewer was. Until then no beat may replace that
 * position. A viewer who has moved meanwhile is where they want to be: their beats are made, and kept back.
 *
 * After another device took over it makes no beat until the viewer acts here, that is, plays or seeks. What the page does
 * about it, like a pause, is no act, and would move the position of the other device back.
 *
 * A source that is given something else is followed if that is the same content; otherwise the playback is over.
 */

import { contentKey } from './beat.js';
import { Change } from './change.js';
import { Progress } from './progress.js';
import { Reporter } from './reporter.js';
import { Listeners, canSeek, plays } from './source.js';

/** What was taken away from a source for so long does not come back. */
const GONE_MS = 300_000;
/** A viewer who has watched so much has not merely let it run, and one who has seeked so far has moved. */
const MOVED_PLAYED_MS = 5_000;
const MOVED_SECONDS = 1;

/**
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {import('./source.js').ProgressSource} ProgressSource
 */

/** @typedef {'stopped' | 'replaced' | 'closed' | 'media' | 'gone'} Ending */

/**
 * @typedef {object} Place  Where the viewer was.
 * @property {StoredRecord | null} record  the newest that is known of the content
 * @property {StoredRecord | null} [other]  what the gateway has instead, if `record` is this client's own and newer
 */

export class Playback {
  #source;
  #content;
  #on;
  #listeners;
  #progress;
  #reporter;
  #over = false;
  #ended = false;
  /** The user has started or moved this playback, and no beat says so yet. */
  #acted = false;
  /** It was told that another device has taken over since the user last did so. */
  #taken = false;
  /** Another device has taken over, and the viewer has not acted here since. */
  #silent = false;
  /** What happens now is the page's doing; and whether a seek of it goes on. */
  #untouched = false;
  #pageSeeks = false;

  /** It is not known yet where the viewer was, or the source is not there yet. */
  #held;
  /** The viewer has moved while it was held. */
  #moved = false;
  /** @type {Place | null} */
  #found = null;
  /** Where the viewer was, in seconds, until the first beat says that they are there. @type {number | null} */
  #start = null;
  /** Where a seek of ours goes, in seconds, until it is there. @type {number | null} */
  #ownSeek = null;
  #resolvePlace = (_record) => {};

  /** An advertisement plays. */
  #suspended = false;
  /** It is not known whether the source plays this content. @type {Change | null} */
  #change = null;
  /** Names what the source played when it was last known to be the content. @type {string | undefined} */
  #address;
  #goneTimer;
  #resolveStopped = (_reason) => {};

  /**
   * Settles once it is known where the viewer was: with the record that counts, or null. The source stands there then,
   * unless the viewer has moved meanwhile.
   * @type {Promise<StoredRecord | null>}
   */
  place;

  /**
   * Settles when the playback is over, with the reason: `stopped` by `stop`, `replaced` by another playback of the source,
   * `closed` with the client, `media`: the source plays something else, `gone`: it was emptied for good.
   * @type {Promise<Ending>}
   */
  stopped = new Promise(resolve => { this.#resolveStopped = resolve; });

  /**
   * @param {ProgressSource} source
   * @param {Content} content  checked
   * @param {import('./clock.js').ServerClock} clock
   * @param {object} on  interval() → milliseconds, made(beat, held), released(), offer(record), session(id), action(),
   *   stopped(reason)
   * @param {{ held?: boolean }} [options]
   */
  constructor(source, content, clock, on, { held = false } = {}) {
    this.#source = source;
    this.#content = content;
    this.#on = on;
    this.#held = held;
    this.place = held ? new Promise(resolve => { this.#resolvePlace = resolve; }) : Promise.resolve(null);
    this.#progress = new Progress(source);
    this.#reporter = new Reporter({ source, content, progress: this.#progress, clock }, session => on.session(session));
    this.#listeners = new Listeners(source);
    this.#listen();
    // Who resumes what plays on somewhere has left the beginning already.
    this.#moved = held && !source.paused && this.#progress.position * 1000 > MOVED_PLAYED_MS;
    if (plays(source)) this.#started();
  }

  #listen() {
    const acts = {
      play: () => this.#change || this.#userActed(),
      playing: () => this.#started(),
      timeupdate: () => this.#progressed(),
      pause: () => this.#paused(),
      seeking: () => this.#jumped(),
      seeked: () => this.#landed(),
      ended: () => this.#finished(),
      emptied: () => this.#emptied(),
      loadedmetadata: () => this.#loaded(),
      durationchange: () => this.#settle(),
    };
    for (const [type, act] of Object.entries(acts)) this.#listeners.listen(type, () => this.#suspended || act());
  }

  get content() {
    return this.#content;
  }

  /** The current session's id. */
  get session() {
    return this.#reporter.session;
  }

  /** The newest beat; null before the first. */
  get newest() {
    return this.#reporter.newest;
  }

  get plays() {
    return !this.#source.paused;
  }

  /** Whether it is still to be told where the viewer was. */
  get asks() {
    return this.#held && !this.#found && !this.#over;
  }

  /** The page is being hidden, and may not come back. */
  hide() {
    if (this.#suspended || this.#change) return;
    const { newest } = this;
    this.#progress.advance();
    this.#make(!this.#source.paused ? 'playing' : newest ? newest.state : 'paused');
  }

  /** Ends the binding; what still plays counts as paused where it is. */
  stop() {
    this.end('stopped');
  }

  /** @param {Ending} reason */
  end(reason) {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#goneTimer);
    this.#listeners.end();
    this.#rest();
    this.#resolvePlace(null);
    this.#resolveStopped(reason);
    this.#on.stopped(reason);
  }

  /** What the source plays from now on is not the content: an advertisement, for example. Reporting pauses. */
  suspend() {
    if (this.#over || this.#suspended) return;
    if (!this.#change) this.#progress.advance();
    this.#rest();
    this.#suspended = true;
  }

  /** The content goes on, or is about to. Reporting goes on as soon as the source is where it was. */
  continue() {
    if (this.#over || !this.#suspended) return;
    this.#suspended = false;
    if (this.newest) this.#doubt();
    else this.#progress.look();
    this.#loaded();
    if (plays(this.#source)) this.#started();
  }

  /** What plays counts as paused. */
  #rest() {
    if (this.newest && this.newest.state === 'playing') this.#make('paused');
  }

  /** The server has this beat: what was played until then is counted. */
  accepted(beat) {
    this.#reporter.accepted(beat);
  }

  /** The server refused this beat. After `clock` it is made anew, by the clock that the ack has set right. */
  rejected(beat, reason) {
    if (this.#reporter.rejected(beat) && reason === 'clock') this.#make(beat.state, { anew: true });
  }

  /**
   * Where the viewer was is known.
   * @param {Place} place
   */
  known(place) {
    if (!this.asks) return;
    this.#found = place;
    this.#settle();
  }

  /**
   * Another device has stored this record, and maybe made the newest beat superseded. Returns whether it has taken over
   * what plays here. That is true once, until the user starts or moves this playback again.
   * @param {StoredRecord} record
   */
  takenOver(record, superseded = false) {
    const { newest } = this;
    const concerns = contentKey(record) === contentKey(this.#content) && newest && record.at >= newest.at;
    if (this.#taken || !concerns) return false;
    // Another device that stops, or marks the content, goes on no more than what stands still here.
    if (this.plays && !superseded && record.state !== 'playing') return false;
    this.#silent = true;
    this.#taken = this.plays || superseded;
    return this.#taken;
  }

  /** Calls what the page does about it. */
  untouched(act) {
    this.#untouched = true;
    act();
    this.#untouched = false;
    this.#pageSeeks = Boolean(this.#source.seeking);
  }

  /** Goes where the viewer was, or offers to, as soon as the source lets it. */
  #settle() {
    if (!this.#found || this.#suspended || this.#change) return;
    const { record, other = null } = this.#found;
    const resume = record ? record.resume : 0;
    const goes = !this.#moved && resume > 0;
    if (goes && !canSeek(this.#source, resume / 1000)) return;
    this.#found = null;
    if (goes) this.#goTo(resume / 1000);
    this.#held = false;
    this.#on.released();
    this.#resolvePlace(record);
    this.#say();
    if (!goes && resume > 0) this.#on.offer(record);
    if (other && other.resume > 0) this.#on.offer(other);
  }

  /** What played until here was only the beginning that the viewer did not want. */
  #goTo(seconds) {
    this.#start = this.#ownSeek = seconds;
    this.#source.currentTime = seconds;
    this.#progress.look();
    this.#reporter.restart();
  }

  /** Says what is true now, which was not said while it was held. */
  #say() {
    if (this.#source.seeking) return;
    this.#progress.advance();
    this.#make(this.#source.ended ? 'ended' : this.#source.paused ? 'paused' : 'playing');
  }

  /** The source may have been too short for where the viewer was. */
  #hasMoved() {
    this.#moved = true;
    this.#settle();
  }

  #userActed() {
    if (this.#untouched) return;
    this.#acted = true;
    this.#silent = false;
    this.#on.action();
  }

  #started() {
    if (!this.#follows()) return;
    this.#ended = false;
    this.#progress.advance();
    // The seek that is going on ends with a beat of its own.
    if (!this.#source.seeking) this.#make('playing');
  }

  #progressed() {
    if (!this.#follows()) return;
    this.#progress.advance();
    if (this.#held && this.#progress.played > MOVED_PLAYED_MS) this.#hasMoved();
    if (!this.#source.seeking) this.#ownSeek = null;
    const due = this.#reporter.due(this.#on.interval());
    if (due && !this.#source.paused && !this.#source.seeking) this.#make('playing');
  }

  #paused() {
    if (!this.#follows()) return;
    this.#progress.advance();
    if (!this.#source.ended) this.#make('paused');
  }

  #jumped() {
    if (this.#change) return;
    const from = this.#progress.position;
    this.#progress.look();
    const { position } = this.#progress;
    if (this.#ownSeek !== null && Math.abs(position - this.#ownSeek) < MOVED_SECONDS) return;
    this.#start = this.#ownSeek = null;
    const pageSeeks = this.#pageSeeks;
    this.#pageSeeks = false;
    if (pageSeeks) return;
    if (Math.abs(position - from) >= MOVED_SECONDS) this.#hasMoved();
    this.#userActed();
    if (!this.#ended) return;
    this.#ended = false;
    this.#reporter.restart();
  }

  #landed() {
    if (this.#change) return this.#landedElsewhere();
    this.#progress.look();
    const own = this.#ownSeek !== null;
    this.#ownSeek = null;
    if (!own) this.#make('seeked');
  }

  #finished() {
    if (!this.#follows()) return;
    this.#progress.advance();
    this.#ended = true;
    this.#hasMoved();
    this.#make('ended');
  }

  /** The source was given something else. Before the first beat that may be the very media this is for. */
  #emptied() {
    if (this.newest) this.#doubt();
    else this.#progress.look();
  }

  /** From now on it is not known whether the source plays the content. */
  #doubt() {
    const { position, duration } = this.#progress;
    if (!this.#change) this.#change = new Change(this.#source, { position, duration, address: this.#address });
    clearTimeout(this.#goneTimer);
    this.#goneTimer = setTimeout(() => this.end('gone'), GONE_MS);
    if (this.#goneTimer.unref) this.#goneTimer.unref();  // in Node, where it would keep the process
  }

  /** Whether what the source plays is the content, as far as can be told. */
  #follows() {
    const verdict = this.#change ? this.#change.verdict() : 'same';
    if (verdict === 'other') this.end('media');
    if (verdict !== 'same') return false;
    this.#address = this.#source.currentSrc;
    if (!this.#change) return true;
    clearTimeout(this.#goneTimer);
    const { back } = this.#change;
    this.#change = null;
    this.#progress.look();
    if (!back && this.#ended) this.#reporter.restart();
    this.#settle();
    return true;
  }

  /** A seek has ended of which it is not known who wanted it: a player goes back to where it was, a viewer elsewhere. */
  #landedElsewhere() {
    const { back } = /** @type {Change} */ (this.#change);
    if (!back) /** @type {Change} */ (this.#change).sought();
    if (!this.#follows() || back) return;
    this.#userActed();
    this.#make('seeked');
  }

  #loaded() {
    if (this.#start !== null && canSeek(this.#source, this.#start)) this.#goTo(this.#start);
    this.#settle();
  }

  /** @param {Beat['state']} state */
  #make(state, options) {
    if (this.#silent || (this.#held && !this.#moved)) return;
    const beat = this.#reporter.make(state, options);
    if (!beat) return;
    this.#start = null;
    if (this.#acted) this.#acted = this.#taken = false;
    this.#on.made(beat, this.#held);
  }
}
