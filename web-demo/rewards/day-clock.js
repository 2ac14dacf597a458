/** The day of the rewards, as the gateway counts it, and the demo's way to move it on. */

const PATH = '/demo/clock';

/** { day, zone, midnight }: its date, whose date it is, and how many milliseconds are left of it. Null where it cannot be moved. */
export function readClock() {
  return ask();
}

/** Moves it to where the next day begins; the clock after that. */
export async function toMidnight() {
  const clock = await ask();
  return clock && ask({ forward: clock.midnight });
}

async function ask(body) {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(PATH, body && { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return answer.json();
}
