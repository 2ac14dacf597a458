/**
 * Tells events to listeners, as a browser's EventTarget does. Not every engine has one of its own that can be
 * constructed, and those have no CustomEvent either.
 */

/**
 * @template [Detail=any]
 * @typedef {object} Told  An event.
 * @property {string} type
 * @property {Detail} detail
 * @property {any} target
 * @property {boolean} defaultPrevented
 * @property {() => void} preventDefault
 */

/**
 * @template [Detail=any]
 * @typedef {((event: Told<Detail>) => void) | { handleEvent: (event: Told<Detail>) => void }} Listener
 */

/** @template {Record<string, any>} Events  each event's detail by its name */
export class Emitter {
  /** @type {Map<any, { listener: Listener, once: boolean }[]>} */
  #listeners = new Map();

  /**
   * @template {keyof Events & string} Type
   * @param {Type} type
   * @param {Listener<Events[Type]> | null} listener
   * @param {{ once?: boolean, signal?: AbortSignal } | boolean} [options]
   */
  addEventListener(type, listener, options) {
    const { once = false, signal = null } = typeof options === 'object' && options !== null ? options : {};
    const known = this.#listeners.get(type) || [];
    if (!listener || (signal && signal.aborted) || known.some(entry => entry.listener === listener)) return;
    this.#listeners.set(type, [...known, { listener, once }]);
    if (signal) signal.addEventListener('abort', () => this.removeEventListener(type, listener));
  }

  /**
   * @template {keyof Events & string} Type
   * @param {Type} type
   * @param {Listener<Events[Type]> | null} listener
   */
  removeEventListener(type, listener) {
    const known = this.#listeners.get(type) || [];
    this.#listeners.set(type, known.filter(entry => entry.listener !== listener));
  }

  /**
   * Returns whether no listener prevented what follows.
   * @template {keyof Events & string} Type
   * @param {Type} type
   * @param {Events[Type]} detail
   * @protected
   */
  emit(type, detail) {
    const event = {
      type, detail, target: this, defaultPrevented: false,
      preventDefault() { event.defaultPrevented = true; },
    };
    for (const entry of this.#listeners.get(type) || []) {
      if (!(this.#listeners.get(type) || []).includes(entry)) continue;  // an earlier listener has removed it
      if (entry.once) this.removeEventListener(type, entry.listener);
      const { listener } = entry;
      unharmed(() => (typeof listener === 'function' ? listener.call(this, event) : listener.handleEvent(event)));
    }
    return !event.defaultPrevented;
  }
}

/** Calls the application. What it throws is reported as uncaught, and harms nothing here. @param {() => void} act */
export function unharmed(act) {
  try {
    act();
  } catch (error) {
    setTimeout(() => { throw error; });
  }
}
