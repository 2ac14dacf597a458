/**
 * What the server has acked to one user: of each content the newest beat. From then on the server must return that beat or
 * a newer one. Every other acked beat is there in one that is as new, so what is missing can be counted in beats.
 *
 * Bounds: CONTENTS_MAX contents; beyond it the one acked longest ago is no longer checked. BEATS_MAX beats of each; beyond
 * it the first ones are no longer counted.
 */

const CONTENTS_MAX = 100;
const BEATS_MAX = 1_000;

export class AckedPositions {
  /** content → { newest, ats }: the newest beat acked, and the `at` of each. */
  #acked = new Map();

  acked(beat) {
    const key = contentKey(beat);
    const { newest, ats } = this.#acked.get(key) ?? { newest: beat, ats: new Set() };
    ats.add(beat.at);
    if (ats.size > BEATS_MAX) ats.delete(ats.values().next().value);
    this.#acked.delete(key);
    this.#acked.set(key, { newest: reaches(beat, newest) ? beat : newest, ats });
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

  /** The newest of each content. A copy: what is acked while the server is asked cannot be missing from its answer. */
  get beats() {
    return [...this.#acked.values()].map(({ newest }) => newest);
  }

  /**
   * How many beats of its content were acked up to this one, and how many of them the server does not have if it returns
   * this record, or null.
   */
  compare(beat, record) {
    const ats = [...this.#acked.get(contentKey(beat)).ats].filter(at => at <= beat.at);
    const lost = keeps(record, beat) ? 0 : ats.filter(at => at === beat.at || at > (record?.at ?? 0)).length;
    return { checked: ats.length, lost };
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
