/** What is shown of one device: words and numbers, and nothing of how they come about. */

import { latency, minutes } from './text.js';

/** So many beats fill the outbox's meter. */
const METER_MAX = 8;

export class DeviceView {
  #name;
  #video;

  constructor({ name, title, announce }) {
    this.#name = name;
    this.announce = announce;
    this.root = document.querySelector('#device').content.firstElementChild.cloneNode(true);
    this.root.dataset.device = name;
    this.root.setAttribute('aria-label', title);
    this.role('name').textContent = title;
    this.role('tape').setAttribute('aria-label', `Frames of the ${title}`);
    this.#video = this.role('video');
  }

  role(role) {
    return this.root.querySelector(`[data-role=${role}]`);
  }

  get recordingPaused() {
    return this.role('recording').getAttribute('aria-pressed') === 'true';
  }

  showOffer(record) {
    const button = this.role('resume');
    const from = record?.device && record.device !== this.#name ? ` from ${record.device}` : '';
    const text = record ? `Continue at ${minutes(record.resume)}${from}` : '';
    if (record && button.hidden) this.announce(text);
    button.hidden = !record;
    button.textContent = text;
    Object.assign(button.dataset, { pos: record?.resume ?? '', from: record?.device ?? '', oid: record?.oid ?? '' });
  }

  showElsewhere(record) {
    const note = this.role('elsewhere');
    note.hidden = !record;
    note.textContent = record ? `Continued on ${record.device || 'another device'} at ${minutes(record.pos)}.` : '';
    if (record) this.announce(note.textContent);
  }

  showState({ state, code, delay, reason }) {
    const shown = this.role('state');
    shown.dataset.state = state;
    if (code !== undefined) shown.dataset.code = code;
    const within = delay === undefined ? '' : `, again in ${(delay / 1000).toFixed(1)} s`;
    shown.textContent = state === 'waiting' ? `cut off (${code})${within}` : state;
    shown.title = reason ?? '';
    if (state === 'stopped') this.showFault(`stopped: ${reason || code}`);
    if (state === 'online') this.role('fault').hidden = true;
    if (state !== 'connecting') this.announce(shown.textContent);
    this.role('offline').setAttribute('aria-pressed', String(state === 'offline'));
    // Not `disabled`, which would take the focus away from under the hand.
    const off = state === 'offline' || state === 'stopped';
    for (const role of ['recording', 'delete', 'clear', 'cut']) this.role(role).setAttribute('aria-disabled', String(off));
  }

  showOutbox(size) {
    const outbox = this.role('outbox');
    outbox.dataset.count = size;
    outbox.querySelector('dd').textContent = size;
    outbox.style.setProperty('--fill', Math.min(1, size / METER_MAX));
  }

  showAcked(newest) {
    const acked = this.role('acked');
    acked.dataset.count = Number(acked.dataset.count) + 1;
    acked.querySelector('dd').textContent = acked.dataset.count;
    if (newest) Object.assign(acked.dataset, { pos: newest.pos, oid: newest.oid, session: newest.session, at: newest.at });
  }

  showLatency(role, milliseconds) {
    const gauge = this.role(role);
    gauge.dataset.ms = milliseconds.toFixed(2);
    gauge.querySelector('dd').textContent = latency(milliseconds);
  }

  showRecording(paused) {
    if (this.recordingPaused !== paused) this.announce(paused ? 'recording is paused' : 'recording goes on');
    this.role('recording').setAttribute('aria-pressed', String(paused));
  }

  showSound() {
    this.role('sound').setAttribute('aria-pressed', String(!this.#video.muted));
  }

  showPlaying() {
    const playing = !this.#video.paused && !this.#video.ended;
    const button = this.role('play');
    button.dataset.playing = playing;
    button.setAttribute('aria-label', playing ? 'Pause' : 'Play');
  }

  showPosition() {
    const { currentTime, duration } = this.#video;
    const seek = this.role('seek');
    if (Number.isFinite(duration)) seek.max = Math.floor(duration);
    seek.value = currentTime;
    seek.style.setProperty('--played', currentTime / (duration || 1));
    const shown = minutes(currentTime * 1000);
    seek.setAttribute('aria-valuetext', `${shown} of ${minutes((duration || 0) * 1000)}`);
    this.role('clock').textContent = shown;
  }

  showFault(message) {
    const fault = this.role('fault');
    fault.textContent = message;
    fault.hidden = false;
    this.announce(message);
  }
}
