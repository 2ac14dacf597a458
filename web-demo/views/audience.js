/** How many people have each video in their history, and how many of them have finished it, from a route of this demo. */

import { CONTENTS, KIND } from '../contents.js';
import { VisiblePoll } from '../visible-poll.js';

const PERIOD_MS = 2_000;
const TIMEOUT_MS = 10_000;
const PATH = `/demo/counters?${CONTENTS.map(({ oid }) => `content=${KIND}:${oid}`).join('&')}`;

/** { viewers, finishers } by oid; one that the gateway does not count is undefined. Empty: nothing is known. */
let known = new Map();
/** Whether the gateway counts either; null = not known yet. */
let counted = null;

const poll = new VisiblePoll(read, PERIOD_MS);

/** @returns {() => void} ends it */
export function followAudience(changed) {
  return poll.follow(changed);
}

/** As of the last answer; undefined where nothing is known. */
export function audienceOf(oid) {
  return known.get(oid);
}

async function read() {
  // Only other settings would change that. A reload of the page asks again.
  if (counted === false) return;
  try {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    counted = answer.status !== 404;
    known = answer.ok ? byOid(await answer.json()) : new Map();
  } catch {
    // The gateway is away. What is shown is as old as everything else on the page.
  }
}

function byOid({ viewers, finishers }) {
  return new Map(CONTENTS.map(({ oid }, index) => [oid, { viewers: viewers?.[index], finishers: finishers?.[index] }]));
}

/** Fills the element, or hides it if nothing is known. */
export function showAudience(shown, audience) {
  shown.hidden = audience === undefined;
  shown.dataset.viewers = audience?.viewers ?? '';
  shown.dataset.finishers = audience?.finishers ?? '';
  shown.textContent = audience ? inWords(audience) : '';
}

function inWords({ viewers, finishers }) {
  if (viewers === 0) return 'Not in any history';
  if (viewers === undefined) return `${people(finishers)} finished this`;
  const have = `${people(viewers)} this in their history`;
  return finishers === undefined ? have : `${have}, ${number(finishers)} finished it`;
}

/** "1 person has", "2 people have" */
function people(count) {
  return count === 1 ? '1 person has' : `${count.toLocaleString('en')} people have`;
}

/** "1 has", "2 have" */
function number(count) {
  return `${count.toLocaleString('en')} ${count === 1 ? 'has' : 'have'}`;
}
