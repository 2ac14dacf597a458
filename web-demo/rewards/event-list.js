/** The tail of the event log, newest first. */

import { title } from './rules.js';

const ROWS_MAX = 100;

export class EventList {
  #list;

  constructor(list) {
    this.#list = list;
  }

  /** Whether it is among those shown: the tail is read again when the gateway was away. */
  has({ offset, event }) {
    return this.#list.querySelector(`[data-offset="${offset}"]`)?.dataset.id === event.id;
  }

  add({ offset, event, points, fresh }) {
    const { rule, kind, oid, day } = event.data;
    // The name where users have names, the number elsewhere.
    const mid = event.subject;
    const row = document.createElement('li');
    Object.assign(row.dataset, { offset, id: event.id, rule, mid, day, fresh });
    row.append(
      cell('seq', offset), cell('day', day), cell('who', `user ${mid}`), cell('what', title({ rule, kind, oid })),
      cell('whole', event.id), cell('points', fresh ? `+${points}` : 'counted before'),
    );
    this.#list.prepend(row);
    while (this.#list.children.length > ROWS_MAX) this.#list.lastElementChild.remove();
  }

  clear() {
    this.#list.replaceChildren();
  }
}

function cell(name, text) {
  const made = document.createElement('span');
  made.className = name;
  made.textContent = text;
  return made;
}
