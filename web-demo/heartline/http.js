/** What goes over HTTP: with the token of the newest connection, in JSON both ways. */

import { HeartlineError, checkedTimeout, timedOut } from './requests.js';

export class Http {
  #address;
  #fetch;
  #token;

  /**
   * @param {object} parts
   * @param {import('./address.js').Address} parts.address
   * @param {typeof fetch} parts.fetch
   * @param {() => string | null} parts.token
   */
  constructor({ address, fetch, token }) {
    this.#address = address;
    this.#fetch = fetch;
    this.#token = token;
  }

  /** Whether there is a token yet. */
  get ready() {
    return this.#token() !== null;
  }

  async get(path, timeout) {
    const patience = checkedTimeout(timeout);
    try {
      return await this.#ask(path, { signal: AbortSignal.timeout(patience) });
    } catch (error) {
      throw error.name === 'TimeoutError' ? timedOut(`GET ${path}`, patience, 'online') : error;
    }
  }

  /** Outlives the page. */
  post(path, body) {
    const headers = { 'content-type': 'application/json' };
    return this.#ask(path, { method: 'POST', keepalive: true, headers, body: JSON.stringify(body) });
  }

  async #ask(path, { headers, ...options }) {
    if (!this.ready) throw new HeartlineError('offline', 'there is no token before the first connection', true);
    const authorization = `Bearer ${this.#token()}`;
    let answer;
    try {
      answer = await this.#fetch(this.#address.http(path), { ...options, headers: { ...headers, authorization } });
    } catch (error) {
      if (error.name === 'TimeoutError') throw error;
      throw new HeartlineError('offline', `not answered: ${error.message}`, true);
    }
    if (answer.ok) return answer.json();
    // A problem document; what stands between this and the gateway may answer something else.
    const problem = await answer.json().catch(() => ({}));
    const code = problem.type?.split('/').at(-1) ?? 'unavailable';
    throw new HeartlineError(code, problem.detail ?? `HTTP ${answer.status}`, [429, 503].includes(answer.status));
  }
}
