/**
 * How many are watching each content, from the widget's endpoint: asked every two seconds as long as anybody wants to know,
 * and not at all while the page is hidden.
 */

const PATH = '/widget/v1.json';
/** What the browser keeps for 2 s is old by then. */
const PERIOD_MS = 2_200;
const TIMEOUT_MS = 10_000;

/** Called after each answer. */
const followers = new Set();
let top = [];
let asking = false;
let askedAt = -Infinity;
let timer;

/** @returns {() => void} ends it */
export function followWatching(changed) {
  followers.add(changed);
  plan();
  return () => followers.delete(changed);
}

/** Sessions of a content; 0 if nobody is watching, or nothing is known. */
export function watchingOf({ kind, oid }) {
  return top.find(content => content.kind === kind && content.oid === oid)?.sessions ?? 0;
}

function plan() {
  clearTimeout(timer);
  if (document.hidden || asking || followers.size === 0) return;
  timer = setTimeout(ask, Math.max(0, askedAt + PERIOD_MS - performance.now()));
}

async function ask() {
  [asking, askedAt] = [true, performance.now()];
  top = await read();
  asking = false;
  for (const changed of followers) changed();
  plan();
}

async function read() {
  try {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok ? (await answer.json()).top : [];
  } catch {
    return [];
  }
}

document.addEventListener('visibilitychange', plan);
