/**
 * Makes the beats of one media element: at every start, pause, seek, end and hide, and once per interval while it
 * plays. Its only clock for that is the element's own `timeupdate`: what does not play, or stalls, does not beat.
 *
 * A session is one playback. It ends with the media, and when the server's clock turns out to be far behind what the
 * session has used already.
 */

/** A session whose last `at` is further ahead of the clock than this cannot go on. */
const AHEAD_MS_MAX = 5_000;

export class Playback {
  #media;
  #content;
  #clock;
  #on;
  #listeners = new AbortController();

  /** What was last seen of the media, in seconds and milliseconds: an element that is emptied forgets both. */
  #position;
  #duration;
  /** Milliseconds of media played since the playback began. */
  #played = 0;
  /** What of that the server has, and what the current session does not count since an earlier one did. */
  #accepted = 0;
  #counted = 0;
  #ended = false;
  #last = null;
  #lastMadeAt = -Infinity;
  #lastRejected = false;
  /** The user has started or moved this playback, and no beat says so yet. */
  #acted = false;
  /** Another device has taken over since the user last did so. */
  #taken = false;

  /** The current session's id. */
  session = newSession();

  /**
   * @param {HTMLMediaElement} media
   * @param {{ kind: number, oid: string }} content  checked
   * @param {object} on  interval() → milliseconds, made(beat), session(id), action(), stopped()
   */
  constructor(media, content, clock, on) {
    this.#media = media;
    this.#content = content;
    this.#clock = clock;
    this.#on = on;
    this.#look();
    on.session(this.session);
    const signal = this.#listeners.signal;
    const listen = (type, act) => media.addEventListener(type, act, { signal });
    listen('play', () => this.#userActed());
    listen('playing', () => this.#started());
    listen('timeupdate', () => this.#progressed());
    listen('pause', () => this.#paused());
    listen('seeking', () => this.#jumped());
    listen('seeked', () => this.#landed());
    listen('ended', () => this.#finished());
    listen('emptied', () => this.#emptied());
    if (!media.paused && media.readyState > media.HAVE_CURRENT_DATA) this.#started();
  }

  get content() {
    return this.#content;
  }

  /** The newest beat; null before the first. */
  get newest() {
    return this.#last;
  }

  /** The page is being hidden, and may not come back. */
  hide() {
    if (!this.#last) return;
    this.#advance();
    this.#make(this.#media.paused ? this.#last.state : 'playing');
  }

  /** Ends the binding; what still plays counts as paused where it is. */
  stop() {
    if (this.#listeners.signal.aborted) return;
    this.#listeners.abort();
    if (this.#last?.state === 'playing') this.#make('paused');
    this.#on.stopped();
  }

  /** The server has this beat: what was played until then is counted. */
  accepted(beat) {
    if (beat.session === this.session) this.#accepted = Math.max(this.#accepted, this.#counted + beat.watched);
  }

  /** The server refused this beat. After `clock` it is made anew, by the clock that the ack has set right. */
  rejected(beat, reason) {
    if (beat !== this.#last) return;
    this.#lastRejected = true;
    if (reason === 'clock') this.#make(beat.state, { anew: true });
  }

  get plays() {
    return !this.#media.paused;
  }

  /**
   * Another device has stored this record: whether it has taken over from this playback. True once, until the user
   * starts or moves this playback again.
   */
  takenOver({ kind, oid, at }) {
    const same = kind === this.#content.kind && oid === this.#content.oid;
    if (this.#taken || !same || !(at >= this.#last?.at)) return false;
    this.#taken = true;
    return true;
  }

  #userActed() {
    this.#acted = true;
    this.#on.action();
  }

  #started() {
    this.#ended = false;
    this.#advance();
    // The seek that is going on ends with a beat of its own.
    if (!this.#media.seeking) this.#make('playing');
  }

  #progressed() {
    this.#advance();
    const due = this.#clock.local() - this.#lastMadeAt >= this.#on.interval();
    if (due && !this.#media.paused && !this.#media.seeking) this.#make('playing');
  }

  #paused() {
    this.#advance();
    if (!this.#media.ended) this.#make('paused');
  }

  #jumped() {
    this.#look();
    this.#userActed();
    if (!this.#ended) return;
    this.#ended = false;
    this.#played = this.#accepted = 0;
    this.#newSession();
  }

  #landed() {
    this.#look();
    this.#make('seeked');
  }

  #finished() {
    this.#advance();
    this.#ended = true;
    this.#make('ended');
  }

  /** The element was given something else. Before the first beat that may be the very media this is for. */
  #emptied() {
    if (this.#last) this.stop();
    else this.#look();
  }

  /** Counts what was played since the last look. */
  #advance() {
    if (this.#media.seeking) return;
    this.#played += Math.max(0, this.#media.currentTime - this.#position) * 1000;
    this.#look();
  }

  #look() {
    const { currentTime, duration } = this.#media;
    this.#position = currentTime;
    // Unknown before the metadata, and of a live stream.
    this.#duration = duration > 0 && Number.isFinite(duration) ? Math.round(duration * 1000) : undefined;
  }

  #make(state, { anew = false } = {}) {
    // Without the server's clock yet the beat gets its `at` later, at the welcome.
    const now = this.#clock.known ? this.#clock.now() : undefined;
    const lastAt = this.#last?.at ?? 0;
    const ahead = lastAt - now > AHEAD_MS_MAX;
    if (ahead) this.#newSession();
    const beat = {
      ...this.#content,
      pos: Math.round(this.#position * 1000),
      dur: this.#duration,
      state,
      session: this.session,
      watched: Math.round(this.#played) - this.#counted,
      rate: this.#media.playbackRate,
    };
    // A start that failed says nothing about where the user was; the server would answer `not_started`.
    if (state !== 'playing' && beat.watched === 0) return;
    this.#lastMadeAt = this.#clock.local();
    if (!anew && this.#repeats(beat)) {
      if (!this.#lastRejected) this.#on.made(this.#last);
      return;
    }
    // Where a rebase took the clock back only a little, `at` goes on by single milliseconds.
    if (now !== undefined) beat.at = ahead ? now : Math.max(now, lastAt + 1);
    this.#last = beat;
    this.#lastRejected = false;
    if (this.#acted) this.#acted = this.#taken = false;
    this.#on.made(beat);
  }

  /** Nothing new to say: then the last beat is said again as it is, for a new `at` would claim a newer position. */
  #repeats(beat) {
    const last = this.#last;
    return last !== null && ['pos', 'dur', 'state', 'session', 'watched', 'rate'].every(name => last[name] === beat[name]);
  }

  #newSession() {
    this.session = newSession();
    this.#counted = this.#accepted;
    this.#on.session(this.session);
  }
}

export function newSession() {
  return crypto.getRandomValues(new BigUint64Array(1))[0].toString();
}
