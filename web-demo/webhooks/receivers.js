/** The receivers' part of the page: of each its queue and how it is served, and of one how it answers. */

import { behave, followReceivers, receivers, subscribe, unsubscribe } from './queues.js';
import { REWARDS, sendRewards } from './viewers.js';

const TITLES = { receiver: 'Receiver', neighbour: 'Neighbour' };
const BEHAVIOURS = { healthy: 'Healthy', slow: 'Slow', broken: 'Broken' };
/** The other one always answers at once. */
const CHANGEABLE = 'receiver';

export class Receivers {
  #root;
  #cards;

  constructor(root) {
    this.#root = root;
    this.#cards = new Map(Object.keys(TITLES).map(name => [name, this.#card(name)]));
    this.#role('cards').replaceChildren(...this.#cards.values());
    this.#role('subscribe').addEventListener('click', () => this.#change(subscribe));
    this.#role('unsubscribe').addEventListener('click', () => this.#change(unsubscribe));
    this.#role('send').addEventListener('click', () => this.#send());
    this.#showSending(false);
    followReceivers(() => this.#show());
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }

  #card(name) {
    const card = document.querySelector('#receiver-card').content.firstElementChild.cloneNode(true);
    card.dataset.receiver = name;
    card.querySelector('h3').textContent = TITLES[name];
    const behaviours = card.querySelector('[data-role=behaviours]');
    if (name !== CHANGEABLE) {
      behaviours.remove();
      return card;
    }
    for (const [behaviour, title] of Object.entries(BEHAVIOURS)) {
      const button = behaviours.appendChild(document.createElement('button'));
      Object.assign(button, { type: 'button', textContent: title });
      button.dataset.role = behaviour;
      button.addEventListener('click', () => this.#change(() => behave(name, behaviour)));
    }
    return card;
  }

  async #change(change) {
    this.#role('fault').hidden = true;
    try {
      await change();
      this.#show();
    } catch (error) {
      this.#showFault(`Not changed: ${error.message}`);
    }
  }

  async #send() {
    if (this.#role('send').getAttribute('aria-disabled') === 'true') return;
    this.#showSending(true);
    this.#role('fault').hidden = true;
    await sendRewards().catch(error => this.#showFault(`Not all rewards were earned: ${error.message}`));
    this.#showSending(false);
  }

  #showSending(sends) {
    const button = this.#role('send');
    button.setAttribute('aria-disabled', String(sends));
    button.textContent = sends ? `Sending ${REWARDS} rewards …` : `Send ${REWARDS} rewards`;
  }

  #showFault(message) {
    this.#role('fault').textContent = message;
    this.#role('fault').hidden = false;
  }

  #show() {
    const all = receivers();
    this.#root.hidden = all === null;
    if (all === null) return;
    const subscribed = all.every(({ subscriber }) => subscriber);
    this.#root.dataset.subscribed = subscribed;
    this.#role('subscribe').hidden = subscribed;
    for (const role of ['unsubscribe', 'send']) this.#role(role).hidden = !subscribed;
    this.#role('cards').hidden = !subscribed;
    const most = Math.max(1, ...all.map(({ subscriber }) => subscriber?.depth ?? 0));
    for (const receiver of all) this.#fill(this.#cards.get(receiver.name), receiver, most);
  }

  #fill(card, { behaviour, received, subscriber }, most) {
    const depth = subscriber?.depth ?? 0;
    Object.assign(card.dataset, { depth, received, behaviour, state: subscriber?.state ?? '' });
    card.querySelector('[data-role=depth]').textContent = depth.toLocaleString('en');
    card.querySelector('[data-role=queue]').style.setProperty('--filled', depth / most);
    card.querySelector('[data-role=served]').textContent = subscriber ? served(subscriber, received) : '';
    for (const button of card.querySelectorAll('[data-role=behaviours] button')) {
      button.setAttribute('aria-pressed', String(button.dataset.role === behaviour));
    }
  }
}

function served({ state, next_try: nextTry, last_error: error }, received) {
  const confirmed = `${received.toLocaleString('en')} confirmed`;
  if (state === 'active') return `Active, ${confirmed}`;
  if (state !== 'failing') return `${state === 'paused' ? 'Paused' : 'Disabled'}, ${confirmed}`;
  const why = error?.status ? `HTTP ${error.status}` : error?.reason ?? 'failed';
  return `Failing (${why}), next try ${wait(nextTry)}, ${confirmed}`;
}

function wait(milliseconds) {
  return milliseconds > 0 ? `in ${Math.ceil(milliseconds / 1_000)} s` : 'now';
}
