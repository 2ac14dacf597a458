/** A token of any user, from the demo's own route: it stands for an app's back-end, which knows who is signed in. */

const TOKEN_SECONDS = 3_600;

export async function demoToken(user) {
  const answer = await fetch('/demo/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ mid: user, ttl: TOKEN_SECONDS }),
  });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return (await answer.json()).token;
}
