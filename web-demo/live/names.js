/** How the page writes contents, times and countries. */

import { KIND, titleOf } from '../contents.js';

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const COUNTRIES = new Intl.DisplayNames(['en'], { type: 'region' });
const DEVICES = { tv: 'TV', phone: 'phone', tablet: 'tablet', desktop: 'desktop' };

/** Its title, and its id beside it; only the id of what is no video. */
export function contentCells({ kind, oid }) {
  const id = `${kind}/${oid}`;
  return kind === KIND ? [['title', titleOf(oid)], ['id', id]] : [['title', id]];
}

/** `at`: milliseconds of the epoch. */
export function clock(at) {
  return CLOCK.format(at);
}

export function device(name) {
  return DEVICES[name] ?? name;
}

export function country(code) {
  try {
    return COUNTRIES.of(code);
  } catch {
    return code;
  }
}
