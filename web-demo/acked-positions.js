/**
 * What the server has acked to one user: of each content the newest beat. From then on the server must return that beat or
 * a newer one.
 *
 * Bound: CONTENTS_MAX contents; beyond it the one acked longest ago is no longer checked.
 */

const CONTENTS_MAX = 100;

export class AckedPositions {
  /** content → the newest beat acked. */
  #acked = new Map();

  acked(beat) {
    const key = contentKey(beat);
    const known = this.#acked.get(key);
    this.#acked.delete(key);
    this.#acked.set(key, known && !reaches(beat, known) ? known : beat);
    if (this.#acked.size > CONTENTS_MAX) this.#acked.delete(this.#acked.keys().next().value);
  }

  /** The user deleted these contents, or all of them: they need not be there any more. */
  forget(contents) {
    if (!contents) this.#acked.clear();
    else for (const content of contents) this.#acked.delete(contentKey(content));
  }

  has(content) {
    return this.#acked.has(contentKey(content));
  }

  /** A copy: what is acked while the server is asked cannot be missing from its answer. */
  get beats() {
    return [...this.#acked.values()];
  }
}

export function contentKey({ kind, oid }) {
  return `${kind}/${oid}`;
}

/** Whether a record, or null, is this beat or a newer one, by the rule by which the server orders beats. */
export function keeps(record, beat) {
  if (!record || !reaches(record, beat)) return false;
  return record.at > beat.at || record.session !== beat.session || record.pos === beat.pos;
}

function reaches(one, other) {
  return one.at > other.at || (one.at === other.at && BigInt(one.session) >= BigInt(other.session));
}
