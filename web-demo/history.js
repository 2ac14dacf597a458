/** The history of a device's user: what the server listed, kept up to date by pushes and by the device's own acks. */

import { deviceName, minutes } from './text.js';

export class History {
  #list;
  #titles;
  #open;
  #records = new Map();

  /** @param {(oid: string) => void} open  called when the user chose one */
  constructor(list, contents, open) {
    this.#list = list;
    this.#titles = new Map(contents.map(({ oid, title }) => [oid, title]));
    this.#open = open;
  }

  get({ kind, oid }) {
    return this.#records.get(`${kind}/${oid}`) ?? null;
  }

  fill(records) {
    this.#records = new Map(records.map(record => [`${record.kind}/${record.oid}`, record]));
    this.#show();
  }

  put(record) {
    const known = this.get(record);
    if (known && known.at > record.at) return;
    this.#records.set(`${record.kind}/${record.oid}`, record);
    this.#show();
  }

  /** A beat of this device that the server took. Where to resume it is for the server to say, when that is asked. */
  beat(beat, device) {
    this.put({ ...beat, device, progress: beat.dur ? beat.pos / beat.dur : undefined });
  }

  remove({ kind, oid }) {
    this.#records.delete(`${kind}/${oid}`);
    this.#show();
  }

  #show() {
    const newest = [...this.#records.values()].sort((a, b) => b.at - a.at);
    newest.forEach((record, index) => {
      const id = `${record.kind}/${record.oid}`;
      // Rows are kept, so that the focus stays where it is while positions move.
      const row = this.#list.querySelector(`[data-id="${id}"]`) ?? this.#row(id);
      if (this.#list.children[index] !== row) this.#list.insertBefore(row, this.#list.children[index] ?? null);
      Object.assign(row.dataset, { kind: record.kind, oid: record.oid, pos: record.pos, from: record.device });
      row.style.setProperty('--progress', record.progress ?? 0);
      row.querySelector('.title').textContent = this.#titles.get(record.oid) ?? `Video ${record.oid}`;
      row.querySelector('.where').textContent = `${minutes(record.pos)} on ${deviceName(record.device)}`;
    });
    for (const row of [...this.#list.children]) if (!this.#records.has(row.dataset.id)) row.remove();
  }

  #row(id) {
    const row = document.createElement('li');
    row.dataset.id = id;
    const button = document.createElement('button');
    button.type = 'button';
    for (const name of ['title', 'where']) {
      const part = document.createElement('span');
      part.className = name;
      button.append(part);
    }
    button.addEventListener('click', () => this.#open(row.dataset.oid));
    row.append(button);
    return row;
  }
}
