/** What is shown of one device: words and numbers, and nothing of how they come about. */

import { title } from './rewards/rules.js';
import { latency, minutes } from './text.js';

/** So many beats fill the outbox's meter. */
const METER_MAX = 8;
/** So many acks after a reward its toast goes, if nobody has taken it away before: some ten seconds of playing. */
const TOAST_ACKS = 2;
/** More would hide the picture: then the oldest goes. */
const TOASTS_MAX = 3;

export class DeviceView {
  #name;
  #video;
  /** How many acks each toast still stays for. */
  #toasts = new Map();

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

  showReward(reward) {
    const toast = document.createElement('button');
    toast.type = 'button';
    toast.className = 'toast';
    Object.assign(toast.dataset, { role: 'toast', id: reward.id, rule: reward.rule, day: reward.day });
    toast.textContent = title(reward);
    toast.title = `${reward.id}; press to take it away`;
    toast.addEventListener('click', () => this.#takeAway(toast));
    this.role('toasts').append(toast);
    // The ack of the beat that earned it may come after it.
    this.#toasts.set(toast, TOAST_ACKS + 1);
    if (this.#toasts.size > TOASTS_MAX) this.#takeAway(this.#toasts.keys().next().value);
    // Several may come at once, and only what is said last is heard.
    this.announce(`earned: ${[...this.#toasts.keys()].map(({ textContent }) => textContent).join(', ')}`);
  }

  /** Something was acked: toasts go by that, not by a clock. One that has the focus stays under it. */
  ageRewards() {
    for (const [toast, acks] of this.#toasts) {
      this.#toasts.set(toast, acks - 1);
      if (acks <= 1 && document.activeElement !== toast) this.#takeAway(toast);
    }
  }

  #takeAway(toast) {
    if (document.activeElement === toast) this.role('play').focus();
    this.#toasts.delete(toast);
    toast.remove();
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
