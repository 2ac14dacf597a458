/**
 * What the server has acked to one bot: of each content the newest beat, which from then on must be there, itself or
 * something newer.
 *
 * Bound: CONTENTS_MAX contents; beyond it the one acked longest ago is not asked for any more.
 */

const CONTENTS_MAX = 100;

export class Ledger {
  /** content → the newest beat acked. */
  #acked = new Map();

  acked(beat) {
    const key = `${beat.kind}/${beat.oid}`;
    const known = this.#acked.get(key);
    this.#acked.delete(key);
    this.#acked.set(key, known && !reaches(beat, known) ? known : beat);
    if (this.#acked.size > CONTENTS_MAX) this.#acked.delete(this.#acked.keys().next().value);
  }

  /** As it is now: what is acked while the server is asked cannot be missed in its answer. */
  get beats() {
    return [...this.#acked.values()];
  }
}

/** Whether a record, or null, keeps what was acked: the rule by which the server orders beats. */
export function keeps(record, beat) {
  if (!record || !reaches(record, beat)) return false;
  return record.at > beat.at || record.session !== beat.session || record.pos === beat.pos;
}

function reaches(one, other) {
  return one.at > other.at || (one.at === other.at && BigInt(one.session) >= BigInt(other.session));
}
