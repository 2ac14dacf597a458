/**
 * Follows one source and tells its beats: at every start, pause, seek, end and hide, and once per interval while it
 * plays. Its only clock for that is the source's own `timeupdate`: what does not play, or stalls, does not beat.
 *
 * It makes no beat until it is known where the viewer was (start.js), and none after another device took over
 * (takeover.js). A source that is given something else is followed if that is the same content (change.js); otherwise
 * the playback is over.
 */

import { contentKey } from './beat.js';
import { Change } from './change.js';
import { Progress } from './progress.js';
import { Reporter } from './reporter.js';
import { Listeners, plays } from './source.js';
import { Start } from './start.js';
import { Takeover } from './takeover.js';

/** What was taken away from a source for so long does not come back. */
const GONE_MS = 300_000;

/**
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {import('./source.js').ProgressSource} ProgressSource
 * @typedef {'stopped' | 'replaced' | 'closed' | 'media' | 'gone'} Ending
 */

/**
 * @typedef {object} Heard  What a playback tells its owner.
 * @property {() => number} interval  asks for the milliseconds between two beats
 * @property {(beat: Beat, held: boolean) => void} made
 * @property {(session: string) => void} session  one has begun
 * @property {() => void} action  the viewer has acted
 * @property {() => void} released  it is not held any more
 * @property {(record: StoredRecord) => void} offer
 * @property {(reason: Ending) => void} stopped
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
  #start;
  #takeover = new Takeover();
  /** @type {(record: StoredRecord | null) => void} */
  #resolvePlace = () => {};

  /** An advertisement plays. */
  #suspended = false;
  /** It is not known whether the source plays this content. @type {Change | null} */
  #change = null;
  /** Names what the source played when it was last known to be the content. @type {string | undefined} */
  #address;
  /** @type {any} */
  #goneTimer;
  /** @type {(reason: Ending) => void} */
  #resolveStopped = () => {};

  /**
   * Settles once it is known where the viewer was: with the record that counts, or null. The source stands there then,
   * unless the viewer has moved meanwhile.
   * @type {Promise<StoredRecord | null>}
   */
  place;

  /**
   * Settles when the playback is over, with the reason: `stopped` by `stop`, `replaced` by another playback of the
   * source, `closed` with the client, `media`: the source plays something else, `gone`: it was emptied for good.
   * @type {Promise<Ending>}
   */
  stopped = new Promise(resolve => { this.#resolveStopped = resolve; });

  /**
   * @param {ProgressSource} source
   * @param {Content} content  checked
   * @param {import('./clock.js').ServerClock} clock
   * @param {Heard} on
   * @param {{ held?: boolean }} [options]
   */
  constructor(source, content, clock, on, { held = false } = {}) {
    this.#source = source;
    this.#content = content;
    this.#on = on;
    this.place = held ? new Promise(resolve => { this.#resolvePlace = resolve; }) : Promise.resolve(null);
    this.#progress = new Progress(source);
    this.#reporter = new Reporter({ source, content, progress: this.#progress, clock }, session => on.session(session));
    this.#start = new Start(source, this.#progress, held);
    this.#listeners = new Listeners(source);
    this.#listen();
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
    return this.#start.asks && !this.#over;
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

  /** The server has this beat: what was played until then is counted. @param {import('./beat.js').Beat} beat */
  accepted(beat) {
    this.#reporter.accepted(beat);
  }

  /**
   * The server refused this beat. After `clock` it is made anew, by the clock that the ack has set right.
   * @param {import('./beat.js').Beat} beat
   * @param {string} reason
   */
  rejected(beat, reason) {
    if (this.#reporter.rejected(beat) && reason === 'clock') this.#make(beat.state, { anew: true });
  }

  /**
   * Where the viewer was is known.
   * @param {import('./start.js').Place} place
   */
  known(place) {
    if (!this.asks) return;
    this.#start.known(place);
    this.#settle();
  }

  /**
   * Another device has stored this record, and maybe made the newest beat superseded. Returns whether it has taken over
   * what plays here. That is true once, until the user starts or moves this playback again.
   * @param {StoredRecord} record
   */
  takenOver(record, superseded = false) {
    const { newest } = this;
    const concerns = contentKey(record) === contentKey(this.#content) && newest && record.at >= (newest.at || Infinity);
    return Boolean(concerns) && this.#takeover.by({ plays: this.plays, state: record.state, superseded });
  }

  /** Calls what the page does about it. @param {() => void} act */
  untouched(act) {
    this.#takeover.untouched(act, () => Boolean(this.#source.seeking));
  }

  /** Goes where the viewer was, or offers to, as soon as the source lets it. */
  #settle() {
    if (this.#suspended || this.#change) return;
    const decided = this.#start.decide();
    if (!decided) return;
    // What played until here was only the beginning that the viewer did not want.
    if (decided.goes) this.#reporter.restart();
    this.#on.released();
    this.#resolvePlace(decided.record);
    this.#say();
    for (const record of decided.offers) this.#on.offer(record);
  }

  /** Says what is true now, which was not said while it was held. */
  #say() {
    if (this.#source.seeking) return;
    this.#progress.advance();
    this.#make(this.#source.ended ? 'ended' : this.#source.paused ? 'paused' : 'playing');
  }

  #userActed() {
    if (this.#takeover.acts()) this.#on.action();
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
    this.#start.played();
    this.#settle();
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
    if (this.#start.seeks(from)) return;
    if (this.#takeover.seeks()) return;
    this.#settle();
    this.#userActed();
    if (!this.#ended) return;
    this.#ended = false;
    this.#reporter.restart();
  }

  #landed() {
    if (this.#change) return this.#landedElsewhere();
    this.#progress.look();
    if (!this.#start.landed()) this.#make('seeked');
  }

  #finished() {
    if (!this.#follows()) return;
    this.#progress.advance();
    this.#ended = this.#start.moved = true;
    this.#settle();
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
    const change = /** @type {Change} */ (this.#change);
    const { back } = change;
    if (!back) change.sought();
    if (!this.#follows() || back) return;
    this.#userActed();
    this.#make('seeked');
  }

  #loaded() {
    if (this.#start.again()) this.#reporter.restart();
    this.#settle();
  }

  /** @param {Beat['state']} state @param {{ anew?: boolean }} [options] */
  #make(state, options = {}) {
    if (this.#takeover.silent || !this.#start.speaks) return;
    const beat = this.#reporter.make(state, options);
    if (!beat) return;
    this.#start.said();
    this.#takeover.said();
    this.#on.made(beat, this.#start.held);
  }
}
