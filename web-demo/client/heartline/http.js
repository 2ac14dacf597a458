/** What goes over HTTP: with the token of the newest connection, in JSON both ways. */

import { HeartlineError, checkedTimeout, timedOut } from './requests.js';

/** A request that outlives the page is not given up; the others after so long. */
const PATIENCE_MS = 15_000;

export class Http {
  #address;
  #fetch;
  #token;
  #refused;

  /**
   * @param {object} parts
   * @param {import('./address.js').Address} parts.address
   * @param {typeof globalThis.fetch} parts.fetch
   * @param {() => string | null} parts.token
   * @param {() => void} parts.refused  the gateway does not take the token
   */
  constructor({ address, fetch, token, refused }) {
    this.#address = address;
    this.#fetch = fetch;
    this.#token = token;
    this.#refused = refused;
  }

  /** Whether there is a token yet. */
  get ready() {
    return this.#token() !== null;
  }

  /** @param {string} path @param {number | undefined} timeout */
  get(path, timeout) {
    return this.send({ method: 'GET', path }, checkedTimeout(timeout));
  }

  /**
   * Sends one request and returns what it is answered with.
   * @param {import('./routes.js').Route} route
   */
  async send({ method, path, body }, patience = PATIENCE_MS) {
    const control = new AbortController();
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      control.abort();
    }, patience);
    try {
      return await this.#ask(path, { method, body, signal: control.signal });
    } catch (/** @type {any} */ error) {
      throw late ? timedOut(`${method} ${path}`, patience, 'online') : error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Outlives the page, in browsers that can: earlier ones refuse it to another origin.
   * @param {string} path
   * @param {any} body
   */
  async post(path, body) {
    try {
      return await this.#ask(path, { method: 'POST', body, keepalive: true });
    } catch (/** @type {any} */ error) {
      if (error.code !== 'offline') throw error;
      return this.#ask(path, { method: 'POST', body });
    }
  }

  /**
   * @param {string} path
   * @param {any} parts
   */
  async #ask(path, { body, ...options }) {
    if (!this.ready) throw new HeartlineError('offline', 'there is no token before the first connection', true);
    /** @type {Record<string, string>} */
    const headers = { authorization: `Bearer ${this.#token()}` };
    const text = body && JSON.stringify(body);
    if (text) headers['content-type'] = 'application/json';
    const answer = await this.#answer(path, { ...options, headers, body: text });
    if (answer.status === 204) return null;
    if (answer.ok) return answer.json();
    if (answer.status === 401) this.#refused();
    // A problem document; what stands between this and the gateway may answer something else.
    const problem = await answer.json().catch(() => ({}));
    const code = String(problem.type || 'unavailable').replace(/^.*\//, '');
    throw new HeartlineError(code, problem.detail || `HTTP ${answer.status}`, [429, 503].includes(answer.status));
  }

  /**
   * @param {string} path
   * @param {any} options
   */
  async #answer(path, options) {
    try {
      return await this.#fetch(this.#address.http(path), options);
    } catch (/** @type {any} */ error) {
      throw new HeartlineError('offline', `not answered: ${error.message}`, true);
    }
  }
}
