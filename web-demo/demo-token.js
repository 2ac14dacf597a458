/** A token of any user, from the demo's own route: it stands for an app's back-end, which knows who is signed in. */

const TOKEN_SECONDS = 3_600;
const AWAY = 'the gateway is away';

/** Whether a fault of the client only says that no token came, since the gateway that gives them is away. */
export const isAway = ({ message }) => message.endsWith(AWAY);

export async function demoToken(user) {
  const answer = await fetch('/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mid: user, ttl: TOKEN_SECONDS }),
  }).catch(() => { throw new Error(AWAY); });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return (await answer.json()).token;
}
