// A page of another site with the widget in it, as a test sees it: by the ids of its paragraphs, and by what it asked.
import assert from 'node:assert/strict';
import { PATIENCE_MS } from './demo_page.mjs';

// Of the answers that an error tells.
const TOLD_MAX = 12;
const FAILED = 'Failed to load resource: net::';

export class WidgetPage {
  static async open(site, context) {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const widget = new WidgetPage(page);
    await page.goto(site.url);
    return widget;
  }

  constructor(page) {
    this.page = page;
    this.opened = performance.now();
    // The moments at which it asked for numbers, what it was answered, and its faults.
    this.asked = [];
    this.answers = [];
    this.faults = [];
    const numbers = (listen) => (request) => request.url().endsWith('/widget/v1.json') && listen(request);
    page.on('request', numbers(() => this.asked.push(performance.now())));
    page.on('requestfailed', numbers((request) => this.note(request.failure()?.errorText)));
    page.on('response', numbers((response) => this.noteAnswer(response)));
    page.on('pageerror', (error) => this.faults.push(error.stack));
    page.on('console', (message) => this.hear(message));
  }

  // That a request has failed is told among the answers: of a busy machine some do.
  hear(message) {
    if (message.type() === 'error' && !message.text().startsWith(FAILED)) this.faults.push(message.text());
  }

  async noteAnswer(response) {
    const numbers = await response.json().catch(() => null);
    this.note(`${response.status()}, ${numbers?.watching} watching`);
  }

  note(what) {
    this.answers.push(`${this.age(performance.now())}: ${what}`);
  }

  age(moment) {
    return `${((moment - this.opened) / 1_000).toFixed(1)} s`;
  }

  // Waits until the widget of this paragraph is shown, and its text is as wanted.
  async until(id, wanted) {
    const shows = ([id, source]) => {
      const host = document.querySelector(`#${id} > span`);
      return host?.checkVisibility() && new RegExp(source).test(host.shadowRoot.textContent);
    };
    await this.page.waitForFunction(shows, [id, wanted.source], { polling: 50 }).catch(async (error) => {
      throw new Error(`never came: ${id} ${wanted}; ${await this.told(id)} (${error.message.split('\n')[0]})`);
    });
  }

  // All that is known of the widget of this paragraph. The text of a paragraph is without that of a shadow in it.
  async told(id) {
    const shown = await this.page.evaluate((id) => {
      const host = document.querySelector(`#${id} > span`);
      if (!host) return 'there is no widget';
      const page = document.hidden ? 'a hidden page' : 'a page in sight';
      return `${host.hidden ? 'hidden' : 'shown'} in ${page}, with the text ${JSON.stringify(host.shadowRoot.textContent)}`;
    }, id);
    const { asked, answers, faults } = this;
    const last = asked.length > 0 ? `, last at ${this.age(asked.at(-1))}` : '';
    return `after ${this.age(performance.now())} it is ${shown}; asked ${asked.length} times${last}; ` +
      `the last of ${answers.length} answers: ${answers.slice(-TOLD_MAX).join('; ')}; faults: ${JSON.stringify(faults)}`;
  }

  // From now on: whether the widget of this paragraph is hidden, even for a moment.
  watchHidden(id) {
    return this.page.evaluate((id) => {
      const host = document.querySelector(`#${id} > span`);
      window.wasHidden = host.hidden;
      new MutationObserver(() => { window.wasHidden ||= host.hidden; }).observe(host, { attributes: true });
    }, id);
  }

  wasHidden() {
    return this.page.evaluate(() => window.wasHidden);
  }

  async untilAsked(more) {
    const [enough, deadline] = [this.asked.length + more, performance.now() + PATIENCE_MS];
    while (this.asked.length < enough) {
      assert.ok(performance.now() < deadline, `it never asked ${more} times more`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  setHidden(hidden) {
    return this.page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  }
}
