/**
 * The beats that have no answer yet: the newest of each session and content, kept beyond a reload.
 *
 * Every entry has a key of its own in the storage, and its session belongs to one page, so that several pages of one
 * user never overwrite each other's. A page takes over what earlier ones left behind; if one of those still
 * lives, both send the same beats, which is harmless.
 *
 * Bound: ENTRIES_MAX entries of some 250 bytes for each user. When it is full the oldest is given up and
 * `dropped` is called with it. Where the storage refuses (full, forbidden, absent) the beats are kept in memory only.
 */

const ENTRIES_MAX = 256;
const ID_MAX = 2n ** 64n - 1n;
const KIND_MAX = 2 ** 16 - 1;
const STATES = ['playing', 'paused', 'seeked', 'ended'];

/**
 * @typedef {object} Beat  See docs/protocol.md. `at` is missing until the server's clock is known.
 * @property {number} kind
 * @property {string} oid
 * @property {number} pos
 * @property {number} [dur]
 * @property {'playing'|'paused'|'seeked'|'ended'} state
 * @property {string} session
 * @property {number} watched
 * @property {number} rate
 * @property {number} [at]
 */

export class Outbox {
  #storage;
  #prefix;
  #dropped;
  /** key → { beat, made }, the oldest first. @type {Map<string, { beat: Beat, made: number }>} */
  #entries = new Map();

  constructor({ storage, name, user, dropped }) {
    this.#storage = storage;
    this.#prefix = `${name}/${user}/`;
    this.#dropped = dropped;
    this.#adopt();
  }

  get size() {
    return this.#entries.size;
  }

  static key(beat) {
    return `${beat.kind}/${beat.oid}/${beat.session}`;
  }

  /** Keeps a beat in place of an older one of its session. `made` is the local time of its making. */
  put(beat, made) {
    const key = Outbox.key(beat);
    this.#entries.delete(key);
    this.#entries.set(key, { beat, made });
    this.#write(key);
    if (this.#entries.size > ENTRIES_MAX) this.#dropOldest();
    return key;
  }

  get(key) {
    return this.#entries.get(key)?.beat;
  }

  /** The keys of all beats that can be sent, the oldest first. */
  keys() {
    return [...this.#entries].filter(([, { beat }]) => beat.at !== undefined).map(([key]) => key);
  }

  /** Forgets a beat that was answered, unless a newer one has taken its place. */
  settle(key, at) {
    if (this.#entries.get(key)?.beat.at === at) this.#entries.delete(key);
    // Another page may have put a newer beat under the same key since it was read here.
    if (this.#read(key)?.beat.at === at) this.#access(storage => storage.removeItem(this.#prefix + key));
  }

  /** Gives the beats made before the first welcome their `at`, once and for all, and stores it. */
  stamp(clock) {
    for (const [key, entry] of this.#entries) {
      if (entry.beat.at !== undefined) continue;
      // A page that adopted the same entry may have been faster: then that is its `at`.
      entry.beat.at = this.#read(key)?.beat.at ?? clock.at(entry.made);
      this.#write(key);
    }
  }

  #adopt() {
    const found = this.#access(storage => {
      const all = Array.from({ length: storage.length }, (_, i) => storage.key(i));
      return all.filter(name => name.startsWith(this.#prefix)).map(name => name.slice(this.#prefix.length));
    }) ?? [];
    const entries = [];
    for (const key of found) {
      const entry = this.#read(key);
      if (entry && valid(entry) && Outbox.key(entry.beat) === key) entries.push([key, entry]);
      else this.#access(storage => storage.removeItem(this.#prefix + key));
    }
    entries.sort(([, a], [, b]) => a.made - b.made);
    this.#entries = new Map(entries);
    while (this.#entries.size > ENTRIES_MAX) this.#dropOldest();
  }

  #dropOldest() {
    const [key, { beat }] = this.#entries.entries().next().value;
    this.#entries.delete(key);
    this.#access(storage => storage.removeItem(this.#prefix + key));
    this.#dropped(beat);
  }

  #write(key) {
    const text = JSON.stringify(this.#entries.get(key));
    this.#access(storage => storage.setItem(this.#prefix + key, text));
  }

  #read(key) {
    return this.#access(storage => JSON.parse(storage.getItem(this.#prefix + key)));
  }

  /** A storage may throw at any call, and what it holds may have been changed by hand: then it holds nothing. */
  #access(use) {
    try {
      return this.#storage ? use(this.#storage) : undefined;
    } catch {
      return undefined;
    }
  }
}

/** The page's localStorage, unless the browser's settings forbid it or there is none. */
export function ownStorage() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

/** Whether a stored entry can be sent: one that cannot would make the server refuse the whole frame it is in. */
function valid({ beat, made }) {
  const count = value => Number.isSafeInteger(value) && value >= 0;
  const id = value => typeof value === 'string' && /^\d{1,20}$/.test(value) && BigInt(value) <= ID_MAX;
  return Number.isFinite(made) && typeof beat === 'object' && beat !== null
    && count(beat.kind) && beat.kind <= KIND_MAX && id(beat.oid) && id(beat.session) && count(beat.pos) && count(beat.watched)
    && (beat.dur === undefined || count(beat.dur)) && (beat.at === undefined || count(beat.at))
    && Number.isFinite(beat.rate) && STATES.includes(beat.state);
}
