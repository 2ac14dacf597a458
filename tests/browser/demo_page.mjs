// The demo page as a test sees it: elements by data-role, values from data attributes.
const PATIENCE_MS = 20_000;

export class DemoPage {
  constructor(page) {
    this.page = page;
    this.phone = new Device(this, 'phone');
    this.tv = new Device(this, 'tv');
  }

  devices() {
    return [this.phone, this.tv];
  }

  // Waits until `condition(argument)`, run in the page, holds.
  async until(what, condition, argument, timeout = PATIENCE_MS) {
    try {
      await this.page.waitForFunction(condition, argument, { timeout, polling: 50 });
    } catch (error) {
      throw new Error(`never came: ${what} (${error.message.split('\n')[0]})`);
    }
  }
}

export class Device {
  constructor(demo, name) {
    this.demo = demo;
    this.name = name;
    this.root = demo.page.locator(`[data-device=${name}]`);
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

  // The position of the video itself, in milliseconds.
  position() {
    return this.part('video').evaluate((video) => Math.round(video.currentTime * 1000));
  }

  // Waits until the attribute is exactly this.
  untilIs(role, attribute, wanted, timeout) {
    return this.untilAttribute(role, attribute, `is ${wanted}`, '===', String(wanted), timeout);
  }

  // Waits until the attribute is a number of at least this.
  untilAtLeast(role, attribute, least, timeout) {
    return this.untilAttribute(role, attribute, `is at least ${least}`, '>=', least, timeout);
  }

  untilAttribute(role, attribute, words, comparison, wanted, timeout) {
    return this.demo.until(
      `${attribute} of ${role} on ${this.name} ${words}`,
      ({ selector, attribute, comparison, wanted }) => {
        const value = document.querySelector(selector)?.getAttribute(attribute) ?? null;
        return comparison === '===' ? value === wanted : value !== null && value !== '' && Number(value) >= wanted;
      },
      { selector: this.selector(role), attribute, comparison, wanted },
      timeout,
    );
  }

  untilShown(role) {
    return this.part(role).waitFor({ state: 'visible', timeout: PATIENCE_MS });
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

  tapeRows(kind) {
    return this.part('tape').locator(`[data-kind=${kind}]`);
  }

  // Presses pause; the position at which the video then stands.
  async pause() {
    await this.click('play');
    await this.untilIs('play', 'data-playing', false);
    return this.position();
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
    await this.untilIs('state', 'data-state', 'online', 60_000);
  }

  async outboxEmpty() {
    await this.untilIs('outbox', 'data-count', 0);
  }

  selector(role) {
    return `[data-device=${this.name}] [data-role=${role}]`;
  }
}
