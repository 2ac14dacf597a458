// The demo page as a test sees it: elements by data-role, values from data attributes.
// The longest that is waited for what has to come, however busy the machine is.
export const PATIENCE_MS = 120_000;

export class DemoPage {
  constructor(page) {
    this.page = page;
    this.phone = new Device(this, 'phone');
    this.tv = new Device(this, 'tv');
    this.guide = new Guide(this);
    this.rewards = new Rewards(this);
    this.crowd = new Crowd(this);
    this.packs = new Packs(this);
    this.receivers = new Receivers(this);
    this.views = new Views(this);
    this.audiences = ['100', '101', '102'].map((oid) => new Part(this, `the card of ${oid}`, `[data-role=views] [data-oid="${oid}"]`));
  }

  devices() {
    return [this.phone, this.tv];
  }

  // Frames, packs and the crowd are behind it.
  async openHood() {
    const hood = this.page.locator('[data-role=hood]');
    if ((await hood.getAttribute('open')) === null) await hood.locator('summary').click();
  }

  // Waits until `condition(argument)`, run in the page, holds.
  async until(what, condition, argument) {
    try {
      await this.page.waitForFunction(condition, argument, { timeout: PATIENCE_MS, polling: 50 });
    } catch (error) {
      throw new Error(`never came: ${what} (${error.message.split('\n')[0]})`);
    }
  }
}

// A part of the page with elements of its own.
class Part {
  constructor(demo, name, selector) {
    this.demo = demo;
    this.name = name;
    this.root = demo.page.locator(selector);
    this.within = selector;
  }

  part(role) {
    return this.root.locator(`[data-role=${role}]`);
  }

  click(role) {
    return this.part(role).click();
  }

  async value(role, attribute) {
    return this.part(role).getAttribute(attribute);
  }

  async number(role, attribute) {
    return Number(await this.value(role, attribute));
  }

  // Waits until the attribute is exactly this.
  untilIs(role, attribute, wanted) {
    return this.untilAttribute(role, attribute, `is ${wanted}`, '===', String(wanted));
  }

  // Waits until the attribute is a number of at least this.
  untilAtLeast(role, attribute, least) {
    return this.untilAttribute(role, attribute, `is at least ${least}`, '>=', least);
  }

  // Waits until the attribute is a number of at most this.
  untilAtMost(role, attribute, most) {
    return this.untilAttribute(role, attribute, `is at most ${most}`, '<=', most);
  }

  untilAttribute(role, attribute, words, comparison, wanted) {
    return this.demo.until(
      `${attribute} of ${role} on ${this.name} ${words}`,
      ({ selector, attribute, comparison, wanted }) => {
        const value = document.querySelector(selector)?.getAttribute(attribute) ?? null;
        if (comparison === '===') return value === wanted;
        if (value === null || value === '') return false;
        return comparison === '>=' ? Number(value) >= wanted : Number(value) <= wanted;
      },
      { selector: this.selector(role), attribute, comparison, wanted },
    );
  }

  untilShown(role) {
    return this.part(role).waitFor({ state: 'visible' });
  }

  selector(role) {
    return `${this.within} [data-role=${role}]`;
  }
}

// Waits until these elements show so many people who remember a video, and so many who finished it.
export async function untilAudience(parts, viewers, finishers) {
  for (const part of parts) {
    await part.untilIs('audience', 'data-viewers', viewers);
    await part.untilIs('audience', 'data-finishers', finishers);
  }
}

// The history packs that leave the gateway.
export class Packs extends Part {
  constructor(demo) {
    super(demo, 'the packs', '[data-role=packs]');
  }

  rows() {
    return this.part('packs-list').locator('li');
  }

  // Waits until it is followed, or is not any more.
  untilState(state) {
    return this.demo.until(
      `packs are ${state}`,
      ({ within, state }) => document.querySelector(within).dataset.state === state,
      { within: this.within, state },
    );
  }
}

export class Device extends Part {
  constructor(demo, name) {
    super(demo, name, `[data-device=${name}]`);
  }

  // The position of the video itself, in milliseconds.
  position() {
    return this.part('video').evaluate((video) => Math.round(video.currentTime * 1000));
  }

  // A clip has forty seconds, and a busy machine may need more to see what comes of it.
  setLoop(on) {
    return this.part('video').evaluate((video, on) => { video.loop = on; }, on);
  }

  // Where what is played now, without a jump, began.
  playedFrom() {
    return this.part('video').evaluate((video) => {
      const at = Array.from({ length: video.played.length }, (_, index) => index)
        .find((index) => video.played.start(index) <= video.currentTime && video.currentTime <= video.played.end(index) + 1);
      return Math.round(video.played.start(at) * 1000);
    });
  }

  untilPlayed(least) {
    return this.demo.until(
      `the video on ${this.name} at ${least} ms`,
      ({ selector, least }) => {
        const video = document.querySelector(selector);
        return !video.paused && video.currentTime * 1000 >= least && video.videoWidth > 0;
      },
      { selector: this.selector('video'), least },
    );
  }

  // Its frames, below "Under the hood".
  get tape() {
    return this.demo.page.locator(`[data-tape=${this.name}] [data-role=tape]`);
  }

  tapeRows(kind) {
    return this.tape.locator(`[data-kind=${kind}]`);
  }

  // Frames of that kind with that reward flag.
  flagged(kind, day) {
    return this.tape.locator(`[data-kind=${kind}][data-flag="${day}"]`);
  }

  toasts(rule) {
    return this.root.locator(`[data-role=toast][data-rule=${rule}]`);
  }

  // Presses pause; the position at which the video then stands.
  async pause() {
    await this.click('play');
    await this.untilIs('play', 'data-playing', false);
    return this.position();
  }

  // Presses "Retry now" as soon as it can be pressed, before the next attempt begins; what the device shows right after that.
  pressRetry() {
    return this.demo.page.evaluate(async (within) => {
      const part = (role) => document.querySelector(`${within} [data-role=${role}]`);
      const retry = part('retry');
      const waits = () => retry.checkVisibility() && retry.getAttribute('aria-disabled') === 'false';
      while (!waits()) await new Promise((resolve) => setTimeout(resolve, 5));
      retry.focus();
      retry.click();
      const { state } = part('state').dataset;
      return { state, shown: retry.checkVisibility(), disabled: retry.getAttribute('aria-disabled') };
    }, this.within);
  }

  // What the newest row of the history says.
  async historyPosition() {
    return Number(await this.part('history').locator('[data-pos]').first().getAttribute('data-pos'));
  }

  untilForgotten() {
    return this.demo.until(
      `an empty history on ${this.name}`,
      (selector) => document.querySelector(selector).querySelector('[data-oid]') === null,
      this.selector('history'),
    );
  }

  async online() {
    await this.untilIs('state', 'data-state', 'online');
  }

  async outboxEmpty() {
    await this.untilIs('outbox', 'data-count', 0);
  }
}

export class Guide extends Part {
  constructor(demo) {
    super(demo, 'the guide', '[data-role=guide]');
  }

  step(name) {
    return this.root.locator(`[data-step=${name}]`);
  }

  // The steps that are ticked off, in the order of the guide.
  done() {
    return this.root.locator('[data-step][data-done=true]').evaluateAll((steps) => steps.map((step) => step.dataset.step));
  }

  async untilDone(name) {
    const selector = `[data-role=guide] [data-step=${name}][data-done=true]`;
    await this.demo.until(`${name} ticked off`, (wanted) => document.querySelector(wanted) !== null, selector);
  }

  seen(name) {
    return this.step(name).locator('[data-role=seen]').textContent();
  }

  // What was found after a restart, when it is there.
  async recovery() {
    await this.part('recovered').waitFor();
    const found = await this.part('recovered').evaluate((shown) => ({ ...shown.dataset }));
    const numbers = ['checked', 'readBack', 'lost', 'resent'].map((name) => [name, Number(found[name])]);
    return { ...Object.fromEntries(numbers), text: await this.part('recovered-lost').textContent() };
  }
}

export class Rewards extends Part {
  constructor(demo) {
    super(demo, 'the rewards', '[data-role=rewards]');
  }

  // The rows of that user's events.
  events(user) {
    return this.part('events').locator(`[data-mid="${user}"]`);
  }

  // Whether each was credited when it was read.
  freshness(user) {
    return this.events(user).evaluateAll((rows) => rows.map((row) => row.dataset.fresh));
  }
}

// Totals and days of the videos.
// Two receivers of events, and their queues.
export class Receivers extends Part {
  constructor(demo) {
    super(demo, 'the receivers', '[data-role=receivers]');
  }

  card(name) {
    return this.root.locator(`[data-receiver=${name}]`);
  }

  value(name, field) {
    return this.card(name).getAttribute(`data-${field}`);
  }

  until(name, field, wanted) {
    return this.demo.until(
      `${field} ${wanted} of the ${name}`,
      ({ selector, field, wanted }) => document.querySelector(selector)?.getAttribute(`data-${field}`) === wanted,
      { selector: `${this.within} [data-receiver=${name}]`, field, wanted: String(wanted) },
    );
  }
}

export class Views extends Part {
  constructor(demo) {
    super(demo, 'the views', '[data-role=views]');
  }

  async total(oid) {
    return Number(await this.card(oid).getAttribute('data-total'));
  }

  untilTotal(oid, wanted) {
    return this.demo.until(
      `${wanted} views of ${oid}`,
      ({ selector, wanted }) => document.querySelector(selector)?.dataset.total === wanted,
      { selector: `${this.within} [data-oid="${oid}"]`, wanted: String(wanted) },
    );
  }

  // Of each day of the chart, the oldest first.
  days(oid) {
    return this.card(oid).locator('rect').evaluateAll((bars) => bars.map((bar) => Number(bar.dataset.views)));
  }

  card(oid) {
    return this.root.locator(`[data-oid="${oid}"]`);
  }
}

export class Crowd extends Part {
  constructor(demo) {
    super(demo, 'the crowd', '[data-role=crowd]');
  }

  async resize(bots) {
    await this.part('bots').fill(String(bots));
  }

  count(role) {
    return this.number(role, 'data-count');
  }

  untilCount(role, wanted) {
    return this.untilIs(role, 'data-count', wanted);
  }

  // Presses the button; what the bots found.
  async readBack() {
    const told = this.part('readback-result');
    await told.evaluate((result) => result.removeAttribute('data-asked'));
    await this.click('readback');
    await this.untilAtLeast('readback-result', 'data-asked', 0);
    const { asked, kept, bots, silent } = await told.evaluate((result) => ({ ...result.dataset }));
    return { asked: Number(asked), kept: Number(kept), bots: Number(bots), silent: Number(silent) };
  }

  // How many pixels of the chart have the colour of that name, or nearly.
  paintedPixels(name) {
    return this.demo.page.evaluate(paintedPixels, { selector: this.selector('ack-chart'), name });
  }

  async untilPainted(name) {
    const { page } = this.demo;
    await page.waitForFunction(paintedPixels, { selector: this.selector('ack-chart'), name }, { timeout: PATIENCE_MS, polling: 50 });
  }
}

// Runs in the page.
function paintedPixels({ selector, name }) {
  const NEAR = 40;
  const FAINT = 60;
  const chart = document.querySelector(selector);
  const hex = getComputedStyle(chart).getPropertyValue(name);
  const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const { data } = chart.getContext('2d').getImageData(0, 0, chart.width, chart.height);
  let painted = 0;
  for (let at = 0; at < data.length; at += 4) {
    const distance = wanted.reduce((sum, value, channel) => sum + Math.abs(data[at + channel] - value), 0);
    if (data[at + 3] > FAINT && distance < NEAR) painted += 1;
  }
  return painted;
}
