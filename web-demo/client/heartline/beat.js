/** What a beat is, and which can be sent. */

import { isId, isKind } from './arguments.js';

/** Live streams and articles resume wherever they were left. */
const KINDS_WITHOUT_THRESHOLDS = [2, 3];
const EARLY_MS_MAX = 180_000;

const STATES = ['playing', 'paused', 'seeked', 'ended'];

/**
 * @typedef {object} Content
 * @property {number} kind  what it is: 1 = video, 2 = live stream, 3 = article, or of your own
 * @property {string} oid
 */

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

/**
 * @typedef {object} StoredRecord  The stored position of one content. Times are in milliseconds.
 * @property {number} kind
 * @property {string} oid
 * @property {number} pos
 * @property {number} resume  where to start: `pos`, or 0 where it is finished or has hardly begun
 * @property {number} [dur]
 * @property {Beat['state']} state
 * @property {string} session
 * @property {string} [device]
 * @property {number} watched
 * @property {number} at
 * @property {number} [progress]  from 0 to 1
 * @property {boolean} [finished]
 */

/**
 * Whether it can be sent: one that cannot would make the server refuse the whole frame it is in.
 * @param {any} beat
 */
export function sendable(beat) {
  /** @param {any} value */
  const count = value => Number.isSafeInteger(value) && value >= 0;
  return typeof beat === 'object' && beat !== null
    && isKind(beat.kind) && isId(beat.oid) && isId(beat.session) && count(beat.pos) && count(beat.watched)
    && (beat.dur === undefined || count(beat.dur)) && (beat.at === undefined || count(beat.at))
    && Number.isFinite(beat.rate) && STATES.includes(beat.state);
}

/**
 * Which of two beats or records of one content is the newer.
 * @param {{ at?: number, session: string }} one
 * @param {{ at?: number, session: string }} other
 */
export function isNewer(one, other) {
  if (one.at !== other.at) return (one.at || 0) > (other.at || 0);
  const [a, b] = [one.session, other.session];
  return a.length === b.length ? a > b : a.length > b.length;
}

/**
 * Where a viewer goes on after a beat that the gateway does not have: as it says of its records, by the thresholds that it
 * has unless it is told others.
 * @param {Beat} beat
 */
export function resumeOf({ kind, pos, dur, state }) {
  const share = dur && !KINDS_WITHOUT_THRESHOLDS.includes(kind) ? pos / dur : 0.5;
  return state === 'ended' || share >= 0.9 || (share < 0.05 && pos < EARLY_MS_MAX) ? 0 : pos;
}

/** @param {{ kind: number, oid: string }} content */
export function contentKey({ kind, oid }) {
  return `${kind}/${oid}`;
}
