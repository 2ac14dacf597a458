/** How often each video was viewed, in all and by day, from the public API. */

import { CONTENTS, KIND } from '../contents.js';
import { demoToken } from '../demo-token.js';
import { VisiblePoll } from '../visible-poll.js';

/** Days lag their view by the time to the next flight, two seconds. */
const PERIOD_MS = 2_000;
const TIMEOUT_MS = 10_000;
/** Any user may read. This one plays nothing here, so that its requests take nothing from the devices' allowance. */
const READER = '1';

/** { total, days: [{ day, views }] } by oid. */
let known = new Map();
/** What is wrong; "" = nothing. */
let fault = '';
/** Whether the gateway counts the videos; null = not known yet. */
let counted = null;
let token = null;

const poll = new VisiblePoll(readAll, PERIOD_MS);

/** @returns {() => void} ends it */
export function followViews(changed) {
  return poll.follow(changed);
}

/** { counted, fault, of(oid) } as of the last answer; `of` is undefined where nothing is known. */
export function views() {
  return { counted, fault, of: oid => known.get(oid) };
}

async function readAll() {
  // Only other settings would change that. A reload of the page asks again.
  if (counted === false) return;
  try {
    const all = await Promise.all(CONTENTS.map(({ oid }) => read(oid)));
    counted = all.every(one => one !== null);
    if (counted) known = new Map(all.map((one, index) => [CONTENTS[index].oid, one]));
    fault = '';
  } catch (error) {
    fault = error.message;
  }
}

/** The last thirty days; null: this gateway does not count them. */
async function read(oid) {
  token ??= demoToken(READER);
  const path = `/v1/views/${KIND}/${oid}/days`;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const answer = await fetch(path, { signal, headers: { authorization: `Bearer ${await token}` } });
  if (answer.ok) return answer.json();
  if (answer.status === 404) return null;
  token = null;
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.detail ?? `HTTP ${answer.status}`);
}
