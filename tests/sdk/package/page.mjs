// A page in jsdom, and a gateway made here that the packed client talks to. jsdom plays nothing: `Film` moves an element.
import { JSDOM } from 'jsdom';

const dom = new JSDOM('<!doctype html><body></body>', { url: 'https://site.test/', pretendToBeVisual: true });
const { window } = dom;
window.matchMedia = () => ({ matches: false, addEventListener() {}, removeEventListener() {}, addListener() {}, removeListener() {} });
for (const name of ['play', 'pause', 'load']) window.HTMLMediaElement.prototype[name] = async () => {};
window.HTMLMediaElement.prototype.canPlayType = () => 'probably';
for (const name of ['textTracks', 'audioTracks', 'videoTracks']) {
  Object.defineProperty(window.HTMLMediaElement.prototype, name, { get: () => Object.assign(new window.EventTarget(), { length: 0, [Symbol.iterator]: [][Symbol.iterator] }) });
}
Object.defineProperty(window.Element.prototype, 'part', { get() { return this.classList; } });
class Observer { observe() {} unobserve() {} disconnect() {} }
window.ResizeObserver = window.IntersectionObserver = Observer;
const own = Object.getOwnPropertyNames(globalThis);
// jsdom takes no signals but its own.
const { AbortController, AbortSignal, Event, EventTarget, CustomEvent } = window;
for (const name of Object.getOwnPropertyNames(window)) if (!own.includes(name)) globalThis[name] = window[name];
Object.assign(globalThis, { window, document: window.document, AbortController, AbortSignal, Event, EventTarget, CustomEvent });
Object.defineProperty(globalThis, 'navigator', { value: window.navigator, configurable: true });

// What the gateway has, by content, and the beats it was sent.
export class Gateway {
  beats = [];
  records = {};
  lists = 0;

  constructor(records = {}) {
    this.records = records;
    const gateway = this;
    this.Socket = class {
      constructor() {
        gateway.socket = this;
        const welcome = { mid: '1', connection: 'c', now: 1e12, interval: 5_000, recording: { paused: false }, limits: {} };
        setTimeout(() => this.answer({ welcome }));
      }

      send(text) {
        const frame = JSON.parse(text);
        if (frame.beats) gateway.beats.push(...frame.beats.items);
        if (frame.list) gateway.lists += 1;
        const records = frame.get
          ? frame.get.items.map(({ kind, oid }) => gateway.records[`${kind}/${oid}`] || null)
          : Object.values(gateway.records);
        setTimeout(() => this.answer(frame.beats ? { ack: { seq: frame.seq } } : { result: { seq: frame.seq, records } }));
      }

      answer(frame) {
        if (this.onmessage) this.onmessage({ data: JSON.stringify(frame) });
      }

      close() {}
    };
  }

  options(rest = {}) {
    return { user: '1', getToken: async () => 't', url: 'https://site.test', storage: null, WebSocket: this.Socket, ...rest };
  }

  get states() {
    return this.beats.map(({ oid, pos, state }) => `${oid} ${pos / 1000} ${state}`);
  }
}

export function record(oid, seconds) {
  return { kind: 1, oid, pos: seconds * 1000, resume: seconds * 1000, state: 'paused', session: '7', watched: 1, at: 1 };
}

// Plays a media element, which then says what one of a browser would.
export class Film {
  #state = { currentTime: 0, duration: 600, paused: true, seeking: false, ended: false, readyState: 4, currentSrc: 'one.mp4' };
  #element;

  constructor(element) {
    this.#element = element;
    for (const name of Object.keys(this.#state)) {
      Object.defineProperty(element, name, {
        configurable: true,
        get: () => this.#state[name],
        set: (value) => {
          this.#state[name] = value;
          if (name === 'currentTime') this.say('seeking', 'seeked');
        },
      });
    }
  }

  loaded() {
    this.say('durationchange', 'loadedmetadata', 'loadeddata', 'canplay');
  }

  play() {
    this.#state.paused = false;
    this.say('play', 'playing');
  }

  advance(seconds) {
    this.#state.currentTime += seconds;
    this.say('timeupdate');
  }

  pause() {
    this.#state.paused = true;
    this.say('pause');
  }

  say(...types) {
    for (const type of types) this.#element.dispatchEvent(new window.Event(type));
  }
}

export async function until(what, condition) {
  for (let tries = 0; tries < 2_000; tries++) {
    const found = await condition();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`never came: ${what}`);
}
