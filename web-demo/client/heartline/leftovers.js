/**
 * Beats that were held for a playback that is over, in this page or an earlier one. Its viewer has not seen what the
 * gateway has. So they are sent if they replace nothing, or are further on; otherwise they wait until the content is
 * resumed here.
 */

import { isNewer } from './beat.js';

/** Contents of one request. */
const ITEMS_MAX = 500;

/**
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./history.js').Found} Found
 */

/**
 * Returns the beats to send.
 * @param {Beat[]} held
 * @param {(contents: Content[]) => Promise<Found | null>} ask
 */
export async function toRelease(held, ask) {
  const left = held.slice(0, ITEMS_MAX);
  const answer = await ask(left.map(({ kind, oid }) => ({ kind, oid })));
  return answer ? left.filter((beat, index) => losesNothing(beat, answer.records[index], answer)) : [];
}

/**
 * Whether nothing is lost if the beat is sent.
 * @param {Beat} beat
 * @param {import('./beat.js').StoredRecord | null} record
 * @param {{ partial?: boolean }} answer
 */
function losesNothing(beat, record, { partial }) {
  return record ? isNewer(record, beat) || beat.pos >= record.pos : !partial;
}
