/** The operations of the socket as HTTP has them: each as the requests it takes, and what their answers are together. */

/** @typedef {{ method: string, path: string, body?: object }} Route */

/**
 * @param {string} operation
 * @param {any} body  as in a frame
 * @returns {Route[]}
 */
export function routes(operation, body) {
  const { items = [], at } = body;
  switch (operation) {
    case 'get': return [{ method: 'POST', path: '/v1/history/get', body: { items } }];
    case 'list': return [{ method: 'GET', path: `/v1/history${query(body)}` }];
    case 'delete': return items.map((/** @type {import('./beat.js').Content} */ { kind, oid }) => (
      { method: 'DELETE', path: `/v1/history/${kind}/${encodeURIComponent(oid)}${query({ at })}` }
    ));
    case 'clear': return [{ method: 'DELETE', path: `/v1/history${query({ at })}` }];
    case 'recording': return [{ method: 'PUT', path: '/v1/recording', body }];
    default: throw new TypeError(`${operation} is no operation`);
  }
}

/**
 * The result of a frame from the answers of its requests.
 * @param {string} operation
 * @param {any[]} answers
 */
export function result(operation, [answer]) {
  if (operation === 'recording') return { recording: answer };
  return answer || {};
}

/** @param {Record<string, any>} fields */
function query(fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  const text = given.map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`).join('&');
  return text && `?${text}`;
}
