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
  /** content → { checked, lost }: its beats that were acked, and those of them that the gateway did not return. */
  #compared = new Map();

  resent(keys) {
    for (const key of keys) this.#resent.add(key);
  }

  /**
   * What was missing once is lost, although a later beat may have saved the content again. Of what is all there, only the
   * first reading counts: at a second one, beats of the outage itself are acked, too.
   */
  compared(content, found) {
    const key = contentKey(content);
    const known = this.#compared.get(key);
    if (!known || (known.lost === 0 && found.lost > 0)) this.#compared.set(key, found);
  }

  /** The user deleted these contents, or, with null, all of them. */
  forget(contents) {
    if (!contents) this.#compared.clear();
    else for (const content of contents) this.#compared.delete(contentKey(content));
  }

  /** Numbers of beats. `checked`, `readBack` and `lost` are null where nothing can be said about them. */
  get result() {
    const sum = name => [...this.#compared.values()].reduce((total, found) => total + found[name], 0);
    const [checked, lost] = [sum('checked'), sum('lost')];
    const known = lost > 0 || !this.unread;
    const numbers = known ? { checked, readBack: checked - lost, lost } : { checked: null, readBack: null, lost: null };
    return { ...numbers, resent: this.#resent.size, dropped: this.dropped };
  }
}
