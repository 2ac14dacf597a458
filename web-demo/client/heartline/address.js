/** Where the gateway is, as its users write it: with or without a path, that of a page included. */

export class Address {
  /** Without a slash at its end. */
  #base;

  /** @param {string | URL} url  absolute, or relative to the page */
  constructor(url) {
    const text = String(url);
    const absolute = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]/i.test(text) ? text : resolved(text);
    this.#base = absolute.replace(/[?#].*$/, '').replace(/\/+$/, '').replace(/^ws/i, 'http');
    if (!/^https?:/i.test(this.#base)) throw new TypeError(`url must be http or https; got ${text}`);
  }

  /** For requests. @param {string} path  from `/v1` on */
  http(path) {
    return this.#base + path;
  }

  /** For sockets. @param {string} path  from `/v1` on */
  socket(path) {
    return this.http(path).replace(/^http/i, 'ws');
  }
}

/** @param {string} text */
function resolved(text) {
  const { location } = globalThis;
  if (!location || !location.href) throw new TypeError(`url must be absolute where there is no page; got ${text}`);
  return new URL(text, location.href).href;
}
