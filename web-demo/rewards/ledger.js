/**
 * What the consumer has credited, kept in the browser (IndexedDB): the points of every user, the ids of the events they
 * came from, and how far the log was read. All three change in one transaction, so that whatever breaks off in between
 * leaves either all of a page of events or nothing of it.
 *
 * Several pages of one browser share it: their transactions follow each other, and the later one finds the ids of the
 * other. Where the browser keeps nothing for pages, everything here fails.
 *
 * Bound: an id for each event that the log holds. What the log no longer holds cannot come again, and its id is
 * forgotten when the log is read from its start.
 */

const DATABASE = 'heartline-demo/points';
const VERSION = 1;
const STORES = ['credited', 'points', 'state'];
/** Keys of the store `state`; the first is the name of an index, too. */
const OFFSET = 'offset';
const TOTAL = 'total';

export class Ledger {
  #opening = null;

  /** Up to where the log was read; 0 before the first time. */
  async offset() {
    const { state } = await this.#begin('readonly');
    return await answered(state.get(OFFSET)) ?? 0;
  }

  /** The points of one user and those of all. */
  async totals(mid) {
    const { points, state } = await this.#begin('readonly');
    const [own, all] = await Promise.all([points.get(mid), state.get(TOTAL)].map(answered));
    return { own: own ?? 0, all: all ?? 0 };
  }

  /** Goes back to the start of the log. What was credited stays. */
  async rewind() {
    const { state, done } = await this.#begin('readwrite');
    state.put(0, OFFSET);
    await done;
  }

  /**
   * Credits a page of the log, each event once.
   *
   * @param {object} page
   * @param {{ offset: number, key: string, mid: string, points: number }[]} page.entries
   * @param {number} page.next  up to where the log was read with it
   * @param {boolean} page.first  whether it begins where the log does
   * @returns {Promise<Set<number>>}  the offsets of the events that had not been credited before
   */
  async credit({ entries, next, first }) {
    const { credited, points, state, done } = await this.#begin('readwrite');
    const fresh = new Set();
    for (const { offset, key, mid, points: earned } of entries) {
      const known = await answered(credited.get(key));
      credited.put({ key, offset });
      if (known) continue;
      fresh.add(offset);
      points.put((await answered(points.get(mid)) ?? 0) + earned, mid);
      state.put((await answered(state.get(TOTAL)) ?? 0) + earned, TOTAL);
    }
    if (first && entries.length > 0) await forgetBefore(entries[0].offset, credited);
    state.put(next, OFFSET);
    await done;
    return fresh;
  }

  /** All stores in one transaction, and its end. */
  async #begin(mode) {
    const database = await (this.#opening ??= open());
    const transaction = database.transaction(STORES, mode);
    const done = new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('aborted by the browser'));
    });
    done.catch(() => {});  // a request that fails reports it; this would only repeat it, unhandled
    return { ...Object.fromEntries(STORES.map(name => [name, transaction.objectStore(name)])), done };
  }
}

function open() {
  const opening = indexedDB.open(DATABASE, VERSION);
  opening.onupgradeneeded = () => {
    const database = opening.result;
    database.createObjectStore('credited', { keyPath: 'key' }).createIndex(OFFSET, OFFSET);
    database.createObjectStore('points');
    database.createObjectStore('state');
  };
  return answered(opening);
}

async function forgetBefore(offset, credited) {
  const gone = credited.index(OFFSET).openKeyCursor(IDBKeyRange.upperBound(offset, true));
  for (let cursor = await answered(gone); cursor; cursor = await answered(gone)) {
    credited.delete(cursor.primaryKey);
    cursor.continue();
  }
}

function answered(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
