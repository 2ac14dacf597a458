/**
 * What an outage cost: compares what was acked before a connection was lost with what the gateway returns afterwards.
 *
 * Flow: beats are acked → positions; a device loses its connection → an outage begins; before a device connects again, the
 * positions are read back; every device is connected and has no beat without an answer → `recovered`.
 *
 * Events, all CustomEvents:
 *   process    { pid, instance, command, repository, packs }   the gateway's process, when it is known or has changed
 *   recovered  { cause, checked, readBack, lost, resent, dropped }
 *     cause    cut: the user cut a connection; killed: the process ended without a close and another one is there;
 *              restarted: the same, after a close; network: anything else
 *     checked  beats that were acked before; null, as the next two: the positions could not be read back
 *     readBack of these, how many the gateway returned, or something newer in their place
 *     lost     those it did not return
 *     resent   beats that had no ack when a device was connected again, and are acked now
 *     dropped  beats that never had an ack, and were given up by a full outbox
 */

import { AckedPositions } from './acked-positions.js';
import { readProcess } from './gateway-process.js';
import { Outage } from './outage.js';
import { readRecords } from './saved-records.js';

/** A socket that broke without a close frame. */
const BROKEN = 1006;

export class Recovery extends EventTarget {
  #devices;
  #positions = new AckedPositions();
  #process = null;
  #outage = null;

  constructor(devices) {
    super();
    this.#devices = devices;
    for (const device of devices) {
      const on = (type, act) => device.addEventListener(type, ({ detail }) => act(detail));
      device.beforeConnecting = token => this.#readBack(token);
      on('acked', ({ beats }) => this.#acked(beats));
      on('lost', detail => this.#lost(detail));
      on('welcomed', ({ unanswered }) => this.#welcomed(unanswered));
      on('settled', () => this.#finish());
      on('forgotten', ({ contents }) => this.#forget(contents));
      on('dropped', () => this.#dropped());
    }
  }

  #acked(beats) {
    for (const beat of beats) this.#positions.acked(beat);
  }

  #lost({ code, cut }) {
    this.#outage ??= new Outage();
    if (cut) this.#outage.cut = true;
    else if (code === BROKEN) this.#outage.broken = true;
  }

  /**
   * Every connection of an outage waits for this. A device resends its beats as soon as it is connected, and these would
   * save anew what the gateway had lost.
   */
  async #readBack(token) {
    const outage = this.#outage;
    const acked = this.#positions.beats;
    if (!outage || acked.length === 0) return;
    try {
      const records = await readRecords(token, acked);
      acked.forEach((beat, index) => this.#found(outage, beat, records[index]));
    } catch {
      outage.unread = true;
    }
  }

  #found(outage, beat, record) {
    if (!this.#positions.has(beat)) return;  // The user has deleted it meanwhile, or it is known to be lost.
    const found = this.#positions.compare(beat, record);
    outage.compared(beat, found);
    if (found.lost > 0) this.#positions.forget([beat]);
  }

  async #welcomed(unanswered) {
    if (this.#outage) this.#outage.resent(unanswered);
    else if (!this.#process) this.#met(await readProcess());
  }

  /** Whether it is another one than before. */
  #met(process) {
    if (!process || process.instance === this.#process?.instance) return false;
    const another = this.#process !== null;
    this.#process = process;
    this.#emit('process', process);
    return another;
  }

  #forget(contents) {
    this.#positions.forget(contents);
    this.#outage?.forget(contents);
  }

  #dropped() {
    if (this.#outage) this.#outage.dropped += 1;
  }

  async #finish() {
    const outage = this.#outage;
    if (!outage || !this.#settled) return;
    const process = await readProcess();
    if (this.#outage !== outage || !this.#settled) return;  // It is reported already, or a connection is lost again.
    this.#outage = null;
    this.#emit('recovered', { cause: cause(outage, this.#met(process)), ...outage.result });
  }

  get #settled() {
    const devices = this.#devices.filter(device => device.wanted);
    return devices.length > 0 && devices.every(device => device.settled);
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

function cause({ cut, broken }, another) {
  if (another) return broken ? 'killed' : 'restarted';
  return cut ? 'cut' : 'network';
}
