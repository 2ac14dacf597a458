/**
 * Checks what the application passes in, before anything is kept or sent. One bad id in a frame makes the server refuse
 * the whole frame, and three such frames in a row end the client.
 *
 * Ids have 64 bits. A number beyond 2^53-1 is refused: JavaScript has rounded it already, to the id of something else.
 */

import { bytesOf } from './text.js';

const ID_MAX = '18446744073709551615';
const KIND_MAX = 2 ** 16 - 1;
const KINDS_MAX = 32;
const LIMIT_MAX = 2 ** 32 - 1;
// Of a cursor, and of the name of a user.
const TEXT_BYTES_MAX = 256;
const ZEROS = /^0+(?=\d)/;

/** @typedef {{ kind: number, oid: string | bigint | number }} GivenContent */

/** Whether this is an id as it is stored and sent: digits, at most 2^64-1. @param {any} value */
export function isId(value) {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value)) return false;
  return value.length < ID_MAX.length || value <= ID_MAX;
}

/** @param {any} value */
export function isKind(value) {
  return Number.isInteger(value) && value >= 0 && value <= KIND_MAX;
}

/**
 * An id as a string without leading zeros.
 * @param {any} value
 * @param {string} name
 */
export function checkedId(value, name) {
  const whole = typeof value === 'bigint' || Number.isSafeInteger(value);
  const text = whole ? String(value) : value;
  if (!isId(text)) {
    const wanted = 'an id from 0 to 2^64-1: a string of digits, a BigInt, or a number up to 2^53-1';
    throw new TypeError(`${name} must be ${wanted}; got ${shown(value)}`);
  }
  return text.replace(ZEROS, '');
}

/** A user as the tokens name one: a number, or a text of 1 to 256 bytes. @param {any} value */
export function checkedUser(value) {
  const isName = typeof value === 'string' && value && bytesOf(value) <= TEXT_BYTES_MAX;
  return isName ? value : checkedId(value, 'user');
}

/** Whether this welcome is the user's. @param {{ mid: string, sub?: string }} welcome @param {string} user */
export function isWelcomeOf({ mid, sub }, user) {
  return sub === undefined ? mid === user.replace(ZEROS, '') : sub === user;
}

/** @param {any} content */
export function checkedContent(content) {
  if (typeof content !== 'object' || content === null) {
    throw new TypeError(`a content must be an object { kind, oid }; got ${shown(content)}`);
  }
  return { kind: checkedKind(content.kind), oid: checkedId(content.oid, 'oid') };
}

/** A list of contents; a single one is a list of one. @param {any} contents */
export function checkedContents(contents) {
  const list = typeof contents?.[Symbol.iterator] === 'function' ? Array.from(contents) : [contents];
  return list.map(checkedContent);
}

/** What a page of the history is asked by; what is missing is left out. @param {any} parts */
export function checkedPage({ limit, cursor, kinds, finished }) {
  if (limit !== undefined && !(Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX)) {
    throw new TypeError(`limit must be a whole number from 1; got ${shown(limit)}`);
  }
  const given = cursor ?? undefined;
  if (given !== undefined && !(typeof given === 'string' && given !== '' && given.length <= TEXT_BYTES_MAX)) {
    throw new TypeError(`cursor must be one that list() has returned; got ${shown(cursor)}`);
  }
  const wanted = finished ?? undefined;
  if (wanted !== undefined && typeof wanted !== 'boolean') {
    throw new TypeError(`finished must be true or false; got ${shown(finished)}`);
  }
  return { limit, cursor: given, kinds: checkedKinds(kinds ?? undefined), finished: wanted };
}

/** A length in whole milliseconds. @param {any} dur */
export function checkedLength(dur) {
  if (!(Number.isSafeInteger(dur) && dur >= 0)) {
    throw new TypeError(`dur must be a whole number of milliseconds from 0; got ${shown(dur)}`);
  }
  return dur;
}

/** A media element, or what has its events and properties. @param {any} media */
export function checkedMedia(media) {
  if (typeof media?.addEventListener !== 'function') {
    throw new TypeError(`media must be a media element; got ${shown(media)}`);
  }
  return media;
}

/**
 * A function, or nothing.
 * @param {any} listener
 * @param {string} name
 */
export function checkedListener(listener, name) {
  if (listener !== undefined && typeof listener !== 'function') {
    throw new TypeError(`${name} must be a function; got ${shown(listener)}`);
  }
  return listener;
}

/** @param {any} kinds */
function checkedKinds(kinds) {
  if (kinds === undefined) return undefined;
  const list = Array.isArray(kinds) ? kinds : [kinds];
  if (list.length > KINDS_MAX) throw new TypeError(`kinds must be at most ${KINDS_MAX}; got ${list.length}`);
  return list.map(checkedKind);
}

/** @param {any} kind */
function checkedKind(kind) {
  if (!isKind(kind)) throw new TypeError(`kind must be a whole number from 0 to ${KIND_MAX}; got ${shown(kind)}`);
  return kind;
}

/** @param {any} value */
function shown(value) {
  return typeof value === 'string' ? JSON.stringify(value) : `${typeof value} ${String(value)}`;
}
