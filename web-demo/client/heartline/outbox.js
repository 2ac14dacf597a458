/**
 * The beats that have no answer yet, kept beyond a reload.
 *
 * Of each session and content it keeps several, not only the newest: the server may refuse the newest because recording
 * was paused at that time, and then the newest of the others is the position. When there are too many, those that lie
 * closest together are thinned out, so what such a refusal costs is bounded by the gap between two kept beats.
 *
 * Every session has a key of its own in the storage, and belongs to one page, so that several pages of one user never
 * overwrite each other's. A page takes over what earlier ones left behind; if one of those still lives, both send the
 * same beats, which is harmless.
 *
 * A session may be held: its beats are kept, and not among those to send, until it is released. Another page that takes
 * them over holds them, too.
 *
 * Bounds: SESSION_MAX beats of each session and content, ENTRIES_MAX beats of some 250 bytes for each user. When it is
 * full, sessions are thinned out to their newest beat, the oldest session first; then the oldest session is given up,
 * and `dropped` is called with its newest beat. Where the storage refuses (full, forbidden, absent) the beats are kept
 * in memory only.
 */

import { contentKey, sendable } from './beat.js';

const ENTRIES_MAX = 512;
const SESSION_MAX = 24;

/** @typedef {{ key: string, beat: import('./beat.js').Beat, made: number }} Entry  made: by the local clock */

export class Outbox {
  #storage;
  #prefix;
  #dropped;
  /** key → beats, the oldest first; the session that moved last is the last. @type {Map<string, Entry[]>} */
  #sessions = new Map();
  /** Keys of the sessions that are held. @type {Set<string>} */
  #held = new Set();

  /** @param {any} parts */
  constructor({ storage, name, user, dropped }) {
    this.#storage = storage;
    this.#prefix = `${name}/${user}/`;
    this.#dropped = dropped;
    this.#adopt();
  }

  /** In beats. */
  get size() {
    return [...this.#sessions.values()].reduce((sum, entries) => sum + entries.length, 0);
  }

  /** @param {import('./beat.js').Beat} beat */
  static key(beat) {
    return `${beat.kind}/${beat.oid}/${beat.session}`;
  }

  /**
   * Keeps a beat, in place of one of the same session and `at`; a beat that is kept already stays as it is.
   * @param {number} made  the local time of its making
   * @param {boolean} [held]  its session is held from now on
   * @returns {Entry}
   * @param {import('./beat.js').Beat} beat
   */
  put(beat, made, held = false) {
    const key = Outbox.key(beat);
    if (held) this.#held.add(key);
    const entries = this.#of(key);
    this.#sessions.delete(key);
    this.#sessions.set(key, entries);
    const known = entries.find(entry => entry.beat === beat);
    const entry = known || { key, beat, made };
    if (!known) insert(entries, entry);
    while (entries.length > SESSION_MAX) thinOut(entries);
    this.#write(key);
    this.#bound();
    return entry;
  }

  /** @param {Entry} entry */
  has(entry) {
    return this.#of(entry.key).includes(entry);
  }

  /** Whether it is the newest of its session. @param {Entry} entry */
  isNewest(entry) {
    const entries = this.#sessions.get(entry.key);
    return entries !== undefined && newestOf(entries) === entry;
  }

  /** All beats that can be sent, the oldest first. */
  entries() {
    const all = [...this.#sessions.values()].flat();
    const sent = all.filter(({ key, beat }) => beat.at !== undefined && !this.#held.has(key));
    return sent.sort((one, other) => (one.beat.at || 0) - (other.beat.at || 0));
  }

  /** The newest beat of each session that is held. */
  get held() {
    return [...this.#held].map(key => newestOf(this.#of(key)).beat);
  }

  /** The newest beat of each session of this content. @param {import('./beat.js').Content} content */
  newestOf(content) {
    const all = [...this.#sessions.values()].map(entries => newestOf(entries).beat);
    return all.filter(beat => contentKey(beat) === contentKey(content));
  }

  /** Sessions of this content are no longer held. Returns their beats. @param {import('./beat.js').Content} content */
  release(content) {
    const keys = [...this.#held].filter(key => key.startsWith(`${contentKey(content)}/`));
    for (const key of keys) {
      this.#held.delete(key);
      this.#write(key);
    }
    return keys.map(key => this.#of(key)).flat();
  }

  /** @param {string} key */
  #of(key) {
    return this.#sessions.get(key) || [];
  }

  /**
   * Forgets a beat that was answered.
   * @param {string} key
   * @param {number | undefined} at
   */
  settle(key, at) {
    /** @param {{ beat: import('./beat.js').Beat }} entry */
    const others = ({ beat }) => beat.at !== at;
    const entries = this.#of(key).filter(others);
    if (entries.length > 0) this.#sessions.set(key, entries);
    else this.#remove(key);
    // Another page may have put newer beats under the same key since it was read here.
    const stored = this.#read(key);
    const left = stored.filter(others);
    if (left.length < stored.length) this.#store(key, left);
  }

  /**
   * Gives the beats made before the first welcome their `at`, once and for all, and stores it. Within a session it
   * rises strictly, and none is ahead of the server's clock: so the newest gets its own first.
   * @param {{ at: (made: number) => number }} clock
   */
  stamp(clock) {
    for (const [key, entries] of this.#sessions) {
      if (entries.every(({ beat }) => beat.at !== undefined)) continue;
      const stored = this.#read(key);
      let next = Infinity;
      for (const { beat, made } of [...entries].reverse()) {
        // A page that adopted the same entry may have been faster: then that is its `at`.
        beat.at ??= stored.find(other => other.made === made)?.beat.at ?? Math.min(clock.at(made), next - 1);
        next = /** @type {number} */ (beat.at);
      }
      this.#write(key);
    }
  }

  #adopt() {
    const found = this.#access(storage => {
      const all = Array.from({ length: storage.length }, (_, i) => storage.key(i));
      return all.filter(name => name.startsWith(this.#prefix)).map(name => name.slice(this.#prefix.length));
    }) ?? [];
    /** @type {[string, Entry[]][]} */
    const sessions = [];
    for (const key of found) {
      /** @type {Entry[]} */
      const entries = [];
      for (const { beat, made, held } of this.#read(key)) {
        insert(entries, { key, beat, made });
        if (held) this.#held.add(key);
      }
      while (entries.length > SESSION_MAX) thinOut(entries);
      if (entries.length > 0) sessions.push([key, entries]);
      else this.#store(key, []);
    }
    sessions.sort(([, one], [, other]) => newestOf(one).made - newestOf(other).made);
    this.#sessions = new Map(sessions);
    this.#bound();
  }

  #bound() {
    let excess = this.size - ENTRIES_MAX;
    for (const [key, entries] of this.#sessions) {
      if (excess <= 0) return;
      if (entries.length === 1) continue;
      for (; excess > 0 && entries.length > 1; excess--) thinOut(entries);
      this.#write(key);
    }
    for (; excess > 0; excess--) {
      const [[key, [{ beat }]]] = this.#sessions;
      this.#remove(key);
      this.#store(key, []);
      this.#dropped(beat);
    }
  }

  /** @param {string} key */
  #remove(key) {
    this.#sessions.delete(key);
    this.#held.delete(key);
  }

  /** @param {string} key */
  #write(key) {
    const held = this.#held.has(key) || undefined;
    this.#store(key, this.#of(key).map(({ beat, made }) => ({ beat, made, held })));
  }

  /**
   * @param {string} key
   * @param {object[]} entries
   */
  #store(key, entries) {
    const name = this.#prefix + key;
    if (entries.length === 0) this.#access(storage => storage.removeItem(name));
    else this.#access(storage => storage.setItem(name, JSON.stringify(entries)));
  }

  /**
   * What is stored of a session, without what cannot be sent. Earlier versions stored one beat, not a list.
   * @param {string} key
   */
  #read(key) {
    const found = this.#access(storage => JSON.parse(storage.getItem(this.#prefix + key)));
    /** @param {any} stored */
    const usable = stored => Number.isFinite(stored?.made) && sendable(stored.beat) && Outbox.key(stored.beat) === key;
    return [found].flat().filter(usable).map(({ beat, made, held }) => ({ beat, made, held }));
  }

  /**
   * A storage may throw at any call, and what it holds may have been changed by hand: then it holds nothing.
   * @param {(storage: any) => any} use
   */
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
    return globalThis.localStorage || null;
  } catch {
    return null;
  }
}

/**
 * Puts an entry in its place among those of its session, or in the place of the one with its `at`.
 * @param {Entry[]} entries
 * @param {Entry} entry
 */
function insert(entries, entry) {
  const { at } = entry.beat;
  const same = at === undefined ? -1 : entries.findIndex(({ beat }) => beat.at === at);
  if (same >= 0) {
    entries[same] = entry;
    return;
  }
  let place = entries.length;
  while (place > 0 && moment(entries[place - 1]) > moment(entry)) place--;
  entries.splice(place, 0, entry);
}

/**
 * Removes the older of the two that are closest to each other. The newest is not looked at: it always stays.
 * @param {Entry[]} entries
 */
function thinOut(entries) {
  let older = 0;
  /** @param {number} index */
  const gap = index => moment(entries[index + 1]) - moment(entries[index]);
  for (let index = 1; index < entries.length - 2; index++) if (gap(index) < gap(older)) older = index;
  entries.splice(older, 1);
}

/** @param {Entry[]} entries */
function newestOf(entries) {
  return entries[entries.length - 1];
}

/** All beats of a session have an `at`, or none has. @param {any} parts */
function moment({ beat, made }) {
  return beat.at ?? made;
}
