/**
 * The gateway's process, from the demo's own route: { pid, instance, command, repository, packs }. `instance` differs
 * after every start; `command`: what it was started with; `packs`: history packs leave the gateway. Null while the
 * gateway does not answer.
 */

const TIMEOUT_MS = 5_000;

export async function readProcess() {
  try {
    const answer = await fetch('/demo/process', { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
