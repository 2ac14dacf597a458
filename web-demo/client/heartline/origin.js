/**
 * Why no socket can be opened: a gateway refuses pages whose origin it does not know, and a browser does not tell a
 * page that this was the reason. `GET /v1/origin` says it to every page. A gateway that does not have it yet answers a
 * page that is not allowed with what that page cannot read, while a request that asks for no answer still gets through.
 */

/**
 * Whether the gateway is there, and refuses this page.
 * @param {import('./address.js').Address} address
 * @param {typeof globalThis.fetch} fetch
 */
export async function refusesOrigin(address, fetch) {
  const url = address.http('/v1/origin');
  try {
    const answer = await fetch(url, { cache: 'no-store', credentials: 'omit' });
    return answer.ok && (await answer.json()).allowed === false;
  } catch {
    return reaches(url, fetch);
  }
}

/**
 * @param {string} url
 * @param {typeof globalThis.fetch} fetch
 */
async function reaches(url, fetch) {
  try {
    const { type } = await fetch(url, { mode: 'no-cors', cache: 'no-store', credentials: 'omit' });
    return type === 'opaque';
  } catch {
    return false;
  }
}
