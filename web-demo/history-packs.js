/**
 * The packs of changes that leave the gateway for the history store, newest first, on a gateway that has one. They are
 * followed while they can be seen, and each movement here is caused by a pack.
 */

import { followEvents } from './event-stream.js';
import { clock } from './live/names.js';

const STREAM = '/demo/packs';
const ROWS_MAX = 40;
const FAULTS = {
  away: 'No connection to the gateway. The browser tries again.',
  refused: 'The gateway refuses to send packs. Close and open “Under the hood” to ask again.',
};

const count = new Intl.NumberFormat('en').format;

export class HistoryPacks {
  #root;
  #hood;
  #stream = null;

  /** @param {HTMLDetailsElement} hood  what hides it while it is closed */
  constructor(root, hood) {
    this.#root = root;
    this.#hood = hood;
    hood.addEventListener('toggle', () => this.#follow());
  }

  /** Whether packs leave the gateway. */
  set leave(leave) {
    this.#root.hidden = !leave;
    this.#follow();
  }

  #follow() {
    const seen = this.#hood.open && !this.#root.hidden;
    if (seen && !this.#stream) {
      this.#stream = followEvents(STREAM, 'pack', ({ state, event }) => this.#heard(state, event));
    } else if (seen) {
      this.#stream.again();
    } else if (this.#stream) {
      this.#stream.close();
      this.#stream = null;
      this.#showState('closed');
    }
  }

  #heard(state, pack) {
    this.#showState(state);
    if (pack) this.#show(pack);
  }

  #show({ region, users, bytes }) {
    const row = document.createElement('li');
    Object.assign(row.dataset, { region, users, bytes });
    row.append(
      cell('region', `region ${region}`), cell('users', users === 1 ? '1 user' : `${count(users)} users`),
      cell('bytes', `${count(bytes)} B`), cell('time', clock(Date.now())),
    );
    const list = this.#role('packs-list');
    list.prepend(row);
    while (list.children.length > ROWS_MAX) list.lastElementChild.remove();
    list.hidden = false;
    this.#role('packs-none').hidden = true;
  }

  #showState(state) {
    this.#root.dataset.state = state;
    const fault = this.#role('packs-fault');
    // Only when it has changed: it is read aloud.
    if (fault.textContent !== (FAULTS[state] ?? '')) fault.textContent = FAULTS[state] ?? '';
    fault.hidden = !FAULTS[state];
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }
}

function cell(name, text) {
  const made = document.createElement('span');
  made.className = name;
  made.textContent = text;
  return made;
}
