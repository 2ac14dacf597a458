/** The two receivers of this demo and their queues, from routes of its own. */

import { VisiblePoll } from '../visible-poll.js';

const PERIOD_MS = 1_000;
const TIMEOUT_MS = 10_000;
const PATH = '/demo/receivers';

/** As the gateway answered last; null: nothing is known. */
let known = null;
/** Whether this gateway has receivers; null = not known yet. */
let present = null;

const poll = new VisiblePoll(async () => {
  // Only other settings would change that. A reload of the page asks again.
  if (present === false) return;
  try {
    const answer = await fetch(PATH, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    present = answer.status !== 404;
    if (answer.ok) known = (await answer.json()).receivers;
  } catch {
    // The gateway is away. What is shown is as old as everything else on the page.
  }
}, PERIOD_MS);

/** @returns {() => void} ends it */
export function followReceivers(changed) {
  return poll.follow(changed);
}

/** [{ name, behaviour, received, subscriber }], `subscriber` as the control API shows it; null: nothing is known. */
export function receivers() {
  return present ? known : null;
}

export function subscribe() {
  return change('PUT', PATH);
}

export function unsubscribe() {
  return change('DELETE', PATH);
}

/** @param {'healthy' | 'slow' | 'broken'} behaviour */
export function behave(name, behaviour) {
  return change('PUT', `${PATH}/${name}`, { behaviour });
}

async function change(method, path, body) {
  const content = body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } };
  const answer = await fetch(path, { method, signal: AbortSignal.timeout(TIMEOUT_MS), ...content });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Error(problem.detail ?? `HTTP ${answer.status}`);
  }
  known = (await answer.json()).receivers;
}
