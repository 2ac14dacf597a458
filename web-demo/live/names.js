/** How the page writes contents, times and countries. */

import { CONTENTS, KIND } from '../contents.js';

const CLOCK = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' });
const COUNTRIES = new Intl.DisplayNames(['en'], { type: 'region' });
const DEVICES = { tv: 'TV', phone: 'phone', tablet: 'tablet', desktop: 'desktop' };

/** Its title, and its id beside it; only the id where the demo knows no title. */
export function contentCells({ kind, oid }) {
  const id = `${kind}/${oid}`;
  const title = kind === KIND && CONTENTS.find(content => content.oid === oid)?.title;
  return title ? [['title', title], ['id', id]] : [['title', id]];
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
