/** What a beat is, and which can be sent. */

import { isId, isKind } from './arguments.js';

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

/** Whether it can be sent: one that cannot would make the server refuse the whole frame it is in. */
export function sendable(beat) {
  const count = value => Number.isSafeInteger(value) && value >= 0;
  return typeof beat === 'object' && beat !== null
    && isKind(beat.kind) && isId(beat.oid) && isId(beat.session) && count(beat.pos) && count(beat.watched)
    && (beat.dur === undefined || count(beat.dur)) && (beat.at === undefined || count(beat.at))
    && Number.isFinite(beat.rate) && STATES.includes(beat.state);
}
