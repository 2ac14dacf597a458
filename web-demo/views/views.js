/** The views' part of the page: of each video the total, a chart of its days, and its audience. */

import { CONTENTS } from '../contents.js';
import { audienceOf, followAudience, showAudience } from './audience.js';
import { followViews, views } from './counts.js';
import { drawDays } from './day-bars.js';

/** Bars of a chart. */
const DAYS = 14;
const DAY_MS = 86_400_000;

export class Views {
  #root;
  #cards;
  /** The newest day that was heard of: the right edge of all charts. */
  #day = '';

  constructor(root) {
    this.#root = root;
    this.#cards = CONTENTS.map(({ oid, title }) => this.#card(oid, title));
    this.#role('cards').replaceChildren(...this.#cards);
    followViews(() => this.#show());
    followAudience(() => this.#showAudience());
  }

  /** A device has heard of the gateway, and maybe of its day, which never goes back. */
  heard(day) {
    if (day > this.#day) this.#day = day;
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }

  #card(oid, title) {
    const card = document.querySelector('#views-card').content.firstElementChild.cloneNode(true);
    card.dataset.oid = oid;
    card.querySelector('h3').textContent = title;
    return card;
  }

  #show() {
    const { counted, fault, of } = views();
    this.#root.hidden = counted !== true;
    this.#role('fault').hidden = fault === '';
    this.#role('fault').textContent = fault && `Views unavailable: ${fault}`;
    if (!counted) return;
    for (const { oid } of CONTENTS) this.heard(of(oid).days.at(-1)?.day);
    const days = lastDays(this.#day || new Date().toISOString().slice(0, 10));
    const rows = this.#cards.map(({ dataset }) => {
      const byDay = new Map(of(dataset.oid).days.map(({ day, views }) => [day, views]));
      return days.map(day => ({ day, views: byDay.get(day) ?? 0 }));
    });
    const most = Math.max(1, ...rows.flat().map(({ views }) => views));
    this.#cards.forEach((card, index) => this.#fill(card, of(card.dataset.oid).total, rows[index], most));
  }

  #showAudience() {
    for (const card of this.#cards) showAudience(card.querySelector('[data-role=audience]'), audienceOf(card.dataset.oid));
  }

  #fill(card, total, days, most) {
    card.dataset.total = total;
    card.querySelector('[data-role=total]').textContent = total.toLocaleString('en');
    card.querySelector('[data-role=unit]').textContent = total === 1 ? 'view' : 'views';
    drawDays(card.querySelector('svg'), days, most);
    card.querySelector('[data-role=from]').textContent = days[0].day;
    card.querySelector('[data-role=to]').textContent = days.at(-1).day;
  }
}

/** Up to this one, the oldest first. */
function lastDays(newest) {
  const ago = days => new Date(Date.parse(newest) - days * DAY_MS).toISOString().slice(0, 10);
  return Array.from({ length: DAYS }, (_, index) => ago(DAYS - 1 - index));
}
