/** What the gateway has saved, asked over HTTP: before there is a connection, and so before a client resends anything. */

const TIMEOUT_MS = 5_000;

/** The records of these contents, in their order; null where the gateway has none. */
export async function readRecords(token, contents) {
  const answer = await fetch('/v1/history/get', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ items: contents.map(({ kind, oid }) => ({ kind, oid })) }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  return (await answer.json()).records;
}
