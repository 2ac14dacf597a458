// The live page as a test sees it: elements by data-role, values from data attributes.
import { PATIENCE_MS } from './demo_page.mjs';

export const PARTS = ['now', 'minute', 'hour', 'top', 'rising', 'shares', 'tail'];

export class LivePage {
  constructor(page) {
    this.page = page;
  }

  // In this context, which must not have loaded the page before: pages of one context share a stream.
  static async open(context, url) {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.addInitScript(recordTimers);
    await page.addInitScript(`window.readPage = ${readPage}`);
    await page.goto(url);
    return new LivePage(page);
  }

  part(role) {
    return this.page.locator(`[data-role=${role}]`);
  }

  // Waits until `condition(argument)`, run in the page, holds.
  async until(what, condition, argument) {
    try {
      return await this.page.waitForFunction(condition, argument, { polling: 50 });
    } catch (error) {
      throw new Error(`never came: ${what}; ${JSON.stringify(await this.shown())} (${error.message.split('\n')[0]})`);
    }
  }

  untilState(wanted) {
    return this.until(wanted, (state) => document.body.dataset.state === state, wanted);
  }

  // All that it shows then: the next event may have other numbers.
  async untilUsers(least, most = least) {
    const within = ({ least, most }) => {
      const { count } = document.querySelector('[data-role=users]').dataset;
      return count !== '' && Number(count) >= least && Number(count) <= most && window.readPage();
    };
    const found = await this.until(`${least} to ${most} users`, within, { least, most });
    return found.jsonValue();
  }

  untilAfter(at) {
    const after = (at) => Number(document.querySelector('[data-role=at]').dataset.at) > at;
    return this.until(`numbers after ${at}`, after, at);
  }

  // All that it shows, of one event.
  shown() {
    return this.page.evaluate(() => window.readPage());
  }

  // The names of the parts in sight.
  partsInSight() {
    return this.page.locator('[data-part]').evaluateAll((parts) => {
      return parts.filter((part) => part.checkVisibility()).map((part) => part.dataset.part);
    });
  }

  // Timers that its own scripts have set, and what moves by a style.
  motions() {
    return this.page.evaluate(() => [...window.ownTimers, ...document.getAnimations().map(String)]);
  }
}

// Runs in the page.
function readPage() {
  const data = (role) => document.querySelector(`[data-role=${role}]`).dataset;
  const value = ([name, text]) => [name, name === 'oid' ? text : Number(text)];
  const values = (row) => Object.fromEntries(Object.entries(row.dataset).map(value));
  const rows = (role) => {
    const all = [...document.querySelectorAll(`[data-role=${role}] > li`)];
    return all.map((row) => ({ ...values(row), text: row.innerText }));
  };
  return {
    at: Number(data('at').at),
    users: Number(data('users').count),
    sessions: Number(data('sessions').count),
    minute: { ...data('minute') },
    hour: { ...data('hour') },
    kinds: rows('kinds'),
    top: rows('top'),
    rising: rows('rising'),
    tail: rows('tail'),
    shares: [...document.querySelectorAll('[data-share]:not([hidden]) li')].map(({ dataset: { name, sessions }, parentNode }) => {
      return { list: parentNode.getAttribute('aria-labelledby'), name, sessions: Number(sessions) };
    }),
  };
}

// Runs in the page, before its scripts.
function recordTimers() {
  window.ownTimers = [];
  for (const name of ['setTimeout', 'setInterval', 'requestAnimationFrame', 'requestIdleCallback']) {
    const original = window[name].bind(window);
    window[name] = (...given) => {
      const { stack } = new Error();
      if (stack.includes('/demo/')) window.ownTimers.push(`${name}: ${stack}`);
      return original(...given);
    };
  }
}
