/**
 * The five steps of the page's guide. A step is done when its effect was seen: an ack, an offer, a reconnect, or positions
 * read back. It keeps no order: what happened, happened.
 *
 * What was done is kept for a reload of this tab.
 */

import { GuideView } from './guide-view.js';
import { deviceName, latency, minutes } from './text.js';

const STORED = 'heartline-demo/guide';
/** Where the third step is done. */
const CONTINUES = 'tv';
/** A playback that continues may begin so much before the position offered: a video seeks to a frame. */
const SEEK_SLACK_MS = 1_000;

export class Guide {
  #view;
  /** step → what was seen. */
  #done;
  /** The newest acked pause: { device, beat }. */
  #pause = null;
  /** Offers by the name of the device that makes them. */
  #offers = new Map();

  constructor(root) {
    this.#view = new GuideView(root);
    this.#done = new Map(Object.entries(JSON.parse(sessionStorage.getItem(STORED) ?? '{}')));
    this.#view.show(this.#done);
  }

  /** Follows these devices of one user, and what is found after an outage. */
  follow(devices, recovery) {
    this.#pause = null;
    this.#offers.clear();
    this.#view.hideRecovery();
    this.#view.hideRemarks(this.#done);
    for (const device of devices) {
      const on = (type, act) => device.addEventListener(type, ({ detail }) => act(detail));
      on('acked', ({ beats, ms }) => beats.forEach(beat => this.#acked(device.name, beat, ms)));
      on('offered', ({ record }) => this.#offered(device.name, record));
      on('lost', () => this.#view.hideRecovery());
    }
    recovery.addEventListener('process', ({ detail }) => this.#view.showProcess(detail));
    recovery.addEventListener('recovered', ({ detail }) => this.#recovered(detail));
  }

  #acked(name, beat, ms) {
    if (beat.state === 'playing') this.#tick('play', `Saved in ${latency(ms)}.`);
    if (beat.state === 'playing') this.#lookForContinuation(name, beat);
    if (beat.state !== 'paused') return;
    this.#pause = { name, beat };
    this.#lookForOffer();
  }

  #offered(name, record) {
    this.#offers.set(name, record);
    this.#lookForOffer();
  }

  /** The pause of one device is offered by another. Its ack and the offer come on two connections, in any order. */
  #lookForOffer() {
    if (!this.#pause) return;
    const { name: paused, beat } = this.#pause;
    for (const [name, record] of this.#offers) {
      if (name === paused || record.session !== beat.session || record.at !== beat.at) continue;
      this.#tick('pause', `Saved. ${capital(deviceName(name))} offers ${minutes(record.resume)}.`);
    }
  }

  /** The TV plays on from where it was offered to, and the gateway has acked that. */
  #lookForContinuation(name, beat) {
    if (name !== CONTINUES) return;
    const record = this.#offers.get(name);
    const offered = record && record.device !== name && record.oid === beat.oid && record.session !== beat.session;
    if (!offered || beat.at <= record.at || beat.pos < record.resume - SEEK_SLACK_MS) return;
    this.#tick('continue', `Continued at ${minutes(record.resume)}.`);
  }

  #recovered(result) {
    const { cause, checked, lost, resent } = result;
    const killed = cause === 'killed';
    if (killed || cause === 'restarted') this.#view.showRecovery(result);
    if (cause === 'restarted') this.#view.remark('kill', 'That was a clean stop. Now try kill -9.');
    const step = killed ? 'kill' : cause === 'cut' ? 'cut' : null;
    if (!step) return;
    if (lost === null) this.#view.remark(step, 'Reconnected, but the saved positions could not be read back. Try again.');
    else if (lost > 0) this.#view.remark(step, `Reconnected, but ${lost} of ${checked} acked beats lost.`);
    else if (checked === 0) this.#view.remark(step, 'Reconnected, but no position was saved before. Press play first.');
    else this.#tick(step, `Resent ${beats(resent)}, lost ${lost}.`);
  }

  #tick(step, text) {
    if (this.#done.has(step)) return;
    this.#done.set(step, text);
    sessionStorage.setItem(STORED, JSON.stringify(Object.fromEntries(this.#done)));
    this.#view.show(this.#done);
  }
}

function beats(count) {
  return count === 1 ? '1 beat' : `${count} beats`;
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
