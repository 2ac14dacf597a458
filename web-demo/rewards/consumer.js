/**
 * A small reward system: reads the event log, gives points for each event, and credits an event once, however often it
 * is told. It knows nothing of devices and frames; all it has is the log.
 *
 * Flow: log → a page of events → ledger (one transaction) → shown. While there are no more events, one request waits for
 * them at the gateway. A gateway that is away is asked again after `stir`.
 *
 * Events, all CustomEvents:
 *   page      { rows: [{ offset, event, points, fresh }], next }   read, and credited where `fresh`
 *   rewound   the log is read from its start
 *   fault     { message }   the browser keeps nothing
 *   elsewhere { message }  the gateway has no log: events are read elsewhere, and this has ended
 */

import { Ledger } from './ledger.js';
import { points } from './rules.js';

const LIMIT = 200;
/** How long a request waits for the next event, in milliseconds. */
const WAIT_MS = 20_000;
/** Reading begins so many events before the place where it had come to: to have a tail to show, and to see that it is there. */
const TAIL = 30;

export class Consumer extends EventTarget {
  #ledger = new Ledger();
  #running = false;
  #ended = false;
  #rewound = false;
  #asking = new AbortController();

  /** Reads on, if it does not already. */
  async stir() {
    if (this.#running || this.#ended) return;
    this.#running = true;
    try {
      await this.#follow();
    } catch (error) {
      this.#emit('fault', { message: `Points cannot be stored: ${error.message}` });
    } finally {
      this.#running = false;
    }
  }

  /** Reads all events again. What they are worth was credited the first time. */
  replay() {
    this.#rewound = true;
    this.#asking.abort();
    this.stir();
  }

  totals(mid) {
    return this.#ledger.totals(mid);
  }

  /** Until the gateway does not answer. */
  async #follow() {
    let after = Math.max(0, await this.#ledger.offset() - TAIL);
    let wait = 0;
    for (;;) {
      if (this.#rewound) {
        after = 0;
        await this.#ledger.rewind();
        this.#rewound = false;
        this.#emit('rewound');
      }
      const page = await this.#ask(after, wait);
      if (page === null && !this.#rewound) return;
      if (page === null) continue;
      // What was there is gone: it is another log, or it keeps only what is newer. Either is read from its start.
      const gone = wait === 0 && page.events.length === 0;
      if (!gone) await this.#take(page, after === 0);
      after = gone ? 0 : page.next;
      wait = WAIT_MS;
    }
  }

  async #take({ events, next }, first) {
    const rows = events.map(({ offset, event }) => ({ offset, event, points: points(event.data.rule) }));
    const entries = rows.map(({ offset, event, points }) => ({
      offset, points, mid: event.subject, key: `${event.source} ${event.id}`,
    }));
    const fresh = await this.#ledger.credit({ entries, next, first });
    this.#emit('page', { rows: rows.map(row => ({ ...row, fresh: fresh.has(row.offset) })), next });
  }

  /** The next page; null: there is no answer, or none is wanted any more. */
  async #ask(after, wait) {
    this.#asking = new AbortController();
    const asked = performance.now();
    try {
      const query = new URLSearchParams({ after, limit: LIMIT, wait });
      const answer = await fetch(`/demo/events?${query}`, { signal: this.#asking.signal });
      if (answer.status === 404) this.#end((await answer.json()).detail);
      if (!answer.ok) return null;
      const page = await answer.json();
      // One that goes down does not wait: it would be asked again and again.
      const hasty = page.events.length === 0 && performance.now() - asked < wait / 2;
      return hasty ? null : page;
    } catch {
      return null;
    }
  }

  #end(message) {
    this.#ended = true;
    this.#rewound = false;
    this.#emit('elsewhere', { message });
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
