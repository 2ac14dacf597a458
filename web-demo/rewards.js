/** The rewards' part of the page: the day, the points that a consumer gives for the events, and the events themselves. */

import { Consumer } from './rewards/consumer.js';
import { readClock, toMidnight } from './rewards/day-clock.js';
import { EventList } from './rewards/event-list.js';

export class Rewards {
  #root;
  #user;
  #consumer = new Consumer();
  #events;

  constructor(root) {
    this.#root = root;
    this.#events = new EventList(this.#role('events'));
    this.#consumer.addEventListener('page', ({ detail }) => this.#read(detail));
    this.#consumer.addEventListener('rewound', () => this.#events.clear());
    this.#consumer.addEventListener('elsewhere', ({ detail }) => this.#showElsewhere(detail.message));
    this.#consumer.addEventListener('fault', ({ detail }) => this.#showFault(detail.message));
    this.#role('replay').addEventListener('click', () => this.#consumer.replay());
    this.#role('to-midnight').addEventListener('click', () => this.#showClock(toMidnight()));
    this.#showClock(readClock());
    this.#consumer.stir();
  }

  /** The user whose points are shown. */
  set user(user) {
    this.#user = user;
    this.#role('points').querySelector('dt').textContent = `points of user ${user}`;
    this.#showPoints();
  }

  /** A device has heard of the gateway, and maybe of its day, which never goes back. */
  heard(day) {
    if (day > this.#role('today').dataset.day) this.#showDay(day);
    this.#consumer.stir();
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }

  #read({ rows, next }) {
    const unseen = rows.filter(row => !this.#events.has(row));
    for (const row of unseen) this.#events.add(row);
    const fresh = unseen.filter(row => row.fresh).length;
    this.#count('events-counted', this.#counted('events-counted') + fresh);
    this.#count('events-again', this.#counted('events-again') + unseen.length - fresh);
    this.#count('events-offset', next);
    this.#role('fault').hidden = true;
    this.#showPoints();
  }

  async #showPoints() {
    const user = this.#user;
    try {
      const { own, all } = await this.#consumer.totals(user);
      if (user !== this.#user) return;
      this.#count('points', own);
      this.#count('points-all', all);
    } catch (error) {
      this.#showFault(error.message);
    }
  }

  /** @param {Promise<{ day: string, zone: string } | null>} asked */
  async #showClock(asked) {
    try {
      const clock = await asked;
      this.#role('to-midnight').hidden = clock === null;
      if (!clock) return;
      this.#showDay(clock.day);
      this.#role('today').dataset.zone = clock.zone;
      this.#role('zone').textContent = clock.zone;
      this.#role('fault').hidden = true;
    } catch (error) {
      this.#showFault(`Reward day unavailable: ${error.message}`);
    }
  }

  #showDay(day) {
    this.#role('today').dataset.day = day;
    this.#role('day').textContent = day;
  }

  #counted(role) {
    return Number(this.#role(role).dataset.count);
  }

  #count(role, count) {
    this.#role(role).dataset.count = count;
    this.#role(role).querySelector('dd').textContent = count;
  }

  #showElsewhere(message) {
    this.#role('events-elsewhere').textContent = `No points on this page: ${message}.`;
    this.#role('events-elsewhere').hidden = false;
    this.#role('replay').hidden = true;
  }

  #showFault(message) {
    this.#role('fault').textContent = message;
    this.#role('fault').hidden = false;
  }
}
