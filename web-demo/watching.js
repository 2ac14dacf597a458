/** How many are watching each content, from the widget's endpoint. */

import { KIND } from './contents.js';
import { VisiblePoll } from './visible-poll.js';

const PATH = '/widget/v1.json';
/** What the browser keeps for 2 s is old by then. */
const PERIOD_MS = 2_200;
const TIMEOUT_MS = 10_000;

let top = [];
const poll = new VisiblePoll(async () => { top = await read(); }, PERIOD_MS);

/** @returns {() => void} ends it */
export function followWatching(changed) {
  return poll.follow(changed);
}

/** People who watch a content; 0 without viewers, or before the first answer. */
export function watchingOf(oid) {
  return top.find(content => content.kind === KIND && content.oid === oid)?.users ?? 0;
}

async function read() {
  try {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok ? (await answer.json()).top : [];
  } catch {
    return [];
  }
}
