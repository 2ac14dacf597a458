/** One outage: from the first loss of a connection until every device is connected again and has all its answers. */

import { contentKey } from './acked-positions.js';

export class Outage {
  /** The user cut a connection. */
  cut = false;
  /** A connection broke without a close frame. */
  broken = false;
  /** The positions could not be read back before a connection was made. */
  unread = false;
  /** Unanswered beats that a full outbox gave up. */
  dropped = 0;
  /** Keys of the beats that had no answer when a device was connected again: a beat may be resent more than once. */
  #resent = new Set();
  /** content → whether the gateway returned its position. */
  #returned = new Map();

  resent(keys) {
    for (const key of keys) this.#resent.add(key);
  }

  /** A position that was missing once is lost, although a later beat may have saved the content again. */
  readBack(content, returned) {
    const key = contentKey(content);
    if (this.#returned.get(key) !== false) this.#returned.set(key, returned);
  }

  /** The user deleted these contents, or, with null, all of them. */
  forget(contents) {
    if (!contents) this.#returned.clear();
    else for (const content of contents) this.#returned.delete(contentKey(content));
  }

  /** `checked`, `readBack` and `lost` are null where nothing can be said about them. */
  get result() {
    const checked = this.#returned.size;
    const readBack = [...this.#returned.values()].filter(Boolean).length;
    const lost = checked - readBack;
    const known = lost > 0 || !this.unread;
    const positions = known ? { checked, readBack, lost } : { checked: null, readBack: null, lost: null };
    return { ...positions, resent: this.#resent.size, dropped: this.dropped };
  }
}
