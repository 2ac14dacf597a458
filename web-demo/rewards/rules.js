/** The titles of the rewards and their points. Both are the consumer's choice; events carry neither. */

import { titleOf } from '../contents.js';

const POINTS = new Map([['first-of-day', 10], ['first-view', 2]]);
/** For a rule that this page has not heard of. */
const POINTS_OTHERWISE = 1;

export function points(rule) {
  return POINTS.get(rule) ?? POINTS_OTHERWISE;
}

export function title({ rule, oid }) {
  if (rule === 'first-of-day') return 'First watch of the day';
  if (rule === 'first-view') return `First view of ${titleOf(oid)} today`;
  return oid === undefined ? rule : `${rule}, ${titleOf(oid)}`;
}
