/** What is shown of one device: words and numbers, and nothing of how they come about. */

import { Countdown } from './countdown.js';
import { title } from './rewards/rules.js';
import { deviceName, latency, minutes } from './text.js';
import { showAudience } from './views/audience.js';

/** So many beats fill the outbox's meter. */
const METER_MAX = 24;
/** More would leave no picture: then the oldest goes. */
const TOASTS_MAX = 2;

export class DeviceView {
  #name;
  #toasts = new Set();
  #state = 'offline';
  /** The connection was cut, and may not come back yet. */
  #cutOff = false;
  /** Beats that are counted as acked: one that says nothing new is sent as it was. */
  #acked = new WeakSet();
  /** The last state that was announced. */
  #announced = 'offline';
  #countdown = new Countdown(seconds => this.#showSeconds(seconds));

  constructor({ name, title, announce }) {
    this.#name = name;
    this.announce = announce;
    this.root = document.querySelector('#device').content.firstElementChild.cloneNode(true);
    this.root.dataset.device = name;
    this.root.setAttribute('aria-label', title);
    this.role('name').textContent = title;
    this.role('extras').id = `extras-${name}`;
    this.role('more').setAttribute('aria-controls', `extras-${name}`);
    this.role('more').addEventListener('click', ({ currentTarget }) => {
      currentTarget.setAttribute('aria-expanded', String(currentTarget.getAttribute('aria-expanded') !== 'true'));
    });
  }

  /** Nothing of it is shown any more. */
  close() {
    this.#countdown.stop();
  }

  role(role) {
    return this.root.querySelector(`[data-role=${role}]`);
  }

  get recordingPaused() {
    return this.role('recording').getAttribute('aria-pressed') === 'true';
  }

  showOffer(record) {
    const button = this.role('resume');
    const from = record?.device && record.device !== this.#name ? ` from ${deviceName(record.device)}` : '';
    const text = record ? `Continue at ${minutes(record.resume)}${from}` : '';
    if (record && button.hidden) this.announce(text);
    // What is hidden loses the focus; what was asked for with it goes on at the play button.
    if (!record && document.activeElement === button) this.role('play').focus();
    button.hidden = !record;
    button.textContent = text;
    Object.assign(button.dataset, { pos: record?.resume ?? '', from: record?.device ?? '', oid: record?.oid ?? '' });
  }

  showElsewhere(record) {
    const note = this.role('elsewhere');
    note.hidden = !record;
    note.textContent = record ? `Continued on ${deviceName(record.device)} at ${minutes(record.pos)}` : '';
    if (record) this.announce(note.textContent);
  }

  showReward(reward) {
    const toast = document.createElement('button');
    toast.type = 'button';
    toast.className = 'toast';
    Object.assign(toast.dataset, { role: 'toast', id: reward.id, rule: reward.rule, day: reward.day });
    toast.textContent = title(reward);
    toast.title = `${reward.id}; press to dismiss`;
    toast.addEventListener('click', () => this.#takeAway(toast));
    // How long it stays is up to the style sheet, which holds it under the pointer and the focus.
    toast.addEventListener('animationend', () => this.#takeAway(toast));
    this.role('toasts').append(toast);
    this.#toasts.add(toast);
    if (this.#toasts.size > TOASTS_MAX) this.#takeAway(this.#toasts.values().next().value);
    // Several may come at once, and only what is said last is heard.
    this.announce(`earned: ${[...this.#toasts].map(({ textContent }) => textContent).join(', ')}`);
  }

  #takeAway(toast) {
    if (document.activeElement === toast) this.role('play').focus();
    this.#toasts.delete(toast);
    toast.remove();
  }

  /** `count`: people who are watching the same. */
  showWatching(count) {
    const shown = this.role('watching');
    shown.hidden = count === 0;
    shown.dataset.count = count;
    shown.textContent = `${count.toLocaleString('en')} watching`;
  }

  /** `total`: of the chosen content; null: not known. */
  showViews(total) {
    const shown = this.role('viewed');
    shown.hidden = total === null;
    shown.dataset.count = total ?? '';
    shown.textContent = `${total?.toLocaleString('en')} ${total === 1 ? 'view' : 'views'}`;
  }

  /** Of the chosen content; undefined: not known. */
  showAudience(audience) {
    showAudience(this.role('audience'), audience);
  }

  showState({ state, code, reason }) {
    const shown = this.role('state');
    shown.dataset.state = this.#state = state;
    if (code !== undefined) shown.dataset.code = code;
    shown.title = code === undefined ? '' : `closed with ${code}${reason ? `: ${reason}` : ''}`;
    this.#countdown.stop();
    delete shown.dataset.seconds;
    this.#nameState();
    if (state === 'stopped') this.showFault(`Stopped: ${reason || code}`);
    if (state === 'online') this.role('fault').hidden = true;
    // Attempts that fail change nothing for the user.
    if (state !== 'connecting' && state !== this.#announced) this.announce(shown.textContent);
    if (state !== 'connecting') this.#announced = state;
    this.role('offline').setAttribute('aria-pressed', String(state === 'offline'));
    // Not `disabled`, which would take the focus away from under the hand.
    const off = state === 'offline' || state === 'stopped';
    for (const role of ['recording', 'delete', 'clear']) this.role(role).setAttribute('aria-disabled', String(off));
    this.role('cut').setAttribute('aria-disabled', String(state !== 'online'));
    this.#showRetry();
  }

  /** `holds`: the connection was cut, and may not come back yet. */
  showCutOff(holds) {
    this.#cutOff = holds;
    this.#nameState();
    this.#showRetry();
  }

  #nameState() {
    const [state, { seconds }] = [this.#state, this.role('state').dataset];
    let name = state;
    if (state === 'waiting') name = seconds ? `retry in ${seconds} s` : 'disconnected';
    if (this.#cutOff && (state === 'waiting' || state === 'connecting')) name = 'cut off';
    this.role('state').textContent = name;
  }

  /** In the place of "Cut" from the loss of a connection to the next one; the focus goes along. */
  #showRetry() {
    const [state, cut, retry] = [this.#state, this.role('cut'), this.role('retry')];
    const connects = state === 'connecting';
    const waits = state === 'waiting' || state === 'parked' || (connects && this.#cutOff);
    const shown = waits || (connects && !retry.hidden);
    const focused = [cut, retry].includes(document.activeElement);
    [cut.hidden, retry.hidden] = [shown, !shown];
    retry.setAttribute('aria-disabled', String(!waits));
    if (focused) (shown ? retry : cut).focus();
  }

  /** `due`: when the next attempt to connect starts, by `performance.now()`. */
  showReconnecting(due) {
    this.#countdown.start(due);
  }

  #showSeconds(seconds) {
    this.role('state').dataset.seconds = seconds;
    this.#nameState();
  }

  showOutbox(size) {
    const outbox = this.role('outbox');
    outbox.dataset.count = size;
    outbox.querySelector('dd').textContent = size;
    outbox.style.setProperty('--fill', Math.min(1, size / METER_MAX));
  }

  /** `beats`: those that one frame carried and the server took. */
  showAcked(beats) {
    const [acked, newest] = [this.role('acked'), beats.at(-1)];
    const fresh = beats.filter(beat => !this.#acked.has(beat));
    for (const beat of fresh) this.#acked.add(beat);
    acked.dataset.count = Number(acked.dataset.count) + fresh.length;
    acked.querySelector('dd').textContent = acked.dataset.count;
    if (newest) Object.assign(acked.dataset, { pos: newest.pos, oid: newest.oid, session: newest.session, at: newest.at });
  }

  showLatency(role, milliseconds) {
    const gauge = this.role(role);
    gauge.dataset.ms = milliseconds.toFixed(2);
    gauge.querySelector('dd').textContent = latency(milliseconds);
  }

  showRecording(paused) {
    if (this.recordingPaused !== paused) this.announce(paused ? 'recording paused' : 'recording on');
    this.role('recording').setAttribute('aria-pressed', String(paused));
    this.role('unrecorded').hidden = !paused;
  }

  showFault(message) {
    const fault = this.role('fault');
    fault.textContent = message;
    fault.hidden = false;
    this.announce(message);
  }
}
