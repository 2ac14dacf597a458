/** What is watched with, and from where: sessions by device, system, browser and country, as far as that is known. */

import { country, device } from './names.js';
import { writeRows } from './rows.js';

/** Rows of one list; the rest is added up. */
const ROWS_MAX = 8;
const NAMED = { devices: device, countries: country };

const count = new Intl.NumberFormat('en').format;
const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 }).format;

/** @param {Object<string, Object<string, number>>} [shares]  by list and name */
export function showShares(root, shares = {}) {
  let shown = 0;
  for (const box of root.querySelectorAll('[data-share]')) {
    const list = box.dataset.share;
    const rows = largest(Object.entries(shares[list] ?? {}));
    const all = rows.reduce((sum, [, sessions]) => sum + sessions, 0);
    const title = name => NAMED[list]?.(name) ?? name;
    const cells = ([name, sessions]) => [
      ['title', title(name)], ['count', count(sessions)], ['percent', percent(sessions / all)],
    ];
    writeRows(box.querySelector('ol'), rows, cells, ([name, sessions]) => ({ name, sessions, share: sessions / all }));
    box.hidden = rows.length === 0;
    shown += Number(!box.hidden);
  }
  root.dataset.shown = shown;
}

/** The largest first. */
function largest(entries) {
  const sorted = entries.sort(([one, ones], [other, others]) => others - ones || one.localeCompare(other));
  if (sorted.length <= ROWS_MAX) return sorted;
  const rest = sorted.slice(ROWS_MAX - 1).reduce((sum, [, sessions]) => sum + sessions, 0);
  return [...sorted.slice(0, ROWS_MAX - 1), ['others', rest]];
}
