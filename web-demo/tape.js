/** The frames of a device, sent and received, newest first, with the time until the ack. */

import { latency, minutes } from './text.js';

const ROWS_MAX = 60;
/** Characters of a frame's body that are shown where there is room. */
const WHOLE_MAX = 240;

export class Tape {
  #list;
  #sent = new Map();

  constructor(name, title) {
    this.root = document.querySelector('#tape').content.firstElementChild.cloneNode(true);
    this.root.dataset.tape = name;
    this.root.querySelector('h4').textContent = title;
    this.#list = this.root.querySelector('[data-role=tape]');
    this.#list.setAttribute('aria-label', `Frames of the ${title}`);
  }

  frame({ direction, kind, seq, bytes, body }) {
    const row = document.createElement('li');
    Object.assign(row.dataset, { direction, kind, bytes, seq: seq ?? '' });
    row.append(
      cell('arrow', direction === 'out' ? '↑' : '↓', direction === 'out' ? 'sent' : 'received'),
      cell('seq', seq ?? ''), cell('kind', kind), cell('what', summary(kind, body)),
      cell('whole', body ? JSON.stringify(body).slice(0, WHOLE_MAX) : ''), flagCell(body?.flag),
      cell('bytes', `${bytes} B`), cell('ack', ''),
    );
    if (body?.flag) row.dataset.flag = body.flag;
    this.#list.prepend(row);
    if (direction === 'out' && seq) this.#sent.set(seq, { row, at: performance.now() });
    // An ack comes with the time of every frame it covers, see `acked`; a result or an error answers one.
    if (direction === 'in' && (kind === 'result' || kind === 'error')) this.answered(seq);
    while (this.#list.children.length > ROWS_MAX) this.#list.lastElementChild.remove();
  }

  answered(seq, milliseconds = performance.now() - this.#sent.get(seq)?.at) {
    const sent = this.#sent.get(seq);
    if (!sent) return;
    this.#sent.delete(seq);
    sent.row.dataset.ackMs = milliseconds.toFixed(2);
    sent.row.querySelector('.ack').textContent = latency(milliseconds);
  }

  /** The connection is gone: the next one counts from 1, so what had no answer gets none under that number. */
  cut() {
    this.#sent.clear();
  }
}

function summary(kind, body) {
  if (kind === 'beats' || (kind === 'POST /v1/beats' && body.items)) {
    const [first, ...more] = body.items;
    return `${first.oid} ${minutes(first.pos)} ${first.state}${more.length > 0 ? ` +${more.length}` : ''}`;
  }
  if (kind === 'ack') return body.rejected ? `rejected: ${body.rejected.map(({ reason }) => reason).join(', ')}` : '';
  if (kind === 'push' && body.record) return `${body.record.oid} ${minutes(body.record.pos)} ${body.record.state}`;
  if (kind === 'push') return Object.keys(body)[0];
  if (kind === 'reward') return body.rule;
  if (kind === 'error') return body.code;
  if (kind === 'recording') return body.paused ? 'pause' : 'resume';
  if (kind === 'result' && body.records) return records(body.records.filter(Boolean).length);
  if (kind === 'bye') return body.reason;
  return '';
}

function records(count) {
  return count === 1 ? '1 record' : `${count} records`;
}

/** The flag of the frame; where there is no room, only its day of the month. */
function flagCell(flag) {
  if (!flag) return cell('flag', '');
  const made = cell('flag', flag.slice(-2), `flag ${flag}`);
  made.prepend(cell('month', flag.slice(0, -2)));
  return made;
}

function cell(name, text, label) {
  const made = document.createElement('span');
  made.className = name;
  made.textContent = text;
  if (label) {
    made.setAttribute('role', 'img');
    made.setAttribute('aria-label', label);
  }
  return made;
}
