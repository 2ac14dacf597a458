// The browser SDK in Node as the client that `heartline conformance` tests: `node sdk.mjs URL WORKERS`.
import { Heartline } from '../../web-demo/client/heartline.js';
import { Media } from '../sdk/media.mjs';
import { MemoryStorage } from '../sdk/storage.mjs';

const [, , kit, workers] = process.argv;
const TICK_MS = 100;

// In Node 20 a handshake that failed ends with an error alone. In browsers a close follows.
class Socket extends WebSocket {
  constructor(...words) {
    super(...words);
    let closed = false;
    this.addEventListener('close', () => { closed = true; });
    this.addEventListener('error', () => setTimeout(() => closed || this.onclose?.({ code: 1006, reason: '' })));
  }
}

// Plays in real time.
class Player extends Media {
  #ticked = performance.now();
  #timer = setInterval(() => this.#tick(), TICK_MS);

  #tick() {
    const passed = (performance.now() - this.#ticked) / 1000;
    this.#ticked = performance.now();
    if (this.paused) return;
    this.advance(Math.min(passed, this.duration - this.currentTime));
    if (this.currentTime < this.duration) return;
    this.ended = this.paused = true;
    this.say('pause', 'ended');
  }

  play() {
    if (this.ended) this.seek(0);
    this.ended = false;
    super.play();
  }

  end() {
    clearInterval(this.#timer);
  }
}

// One client with its storage and what it plays.
class Device {
  #storage = new MemoryStorage();
  #player = null;
  #playback = null;
  #oid = null;

  constructor({ url, user }) {
    this.url = url;
    this.user = user;
    this.#begin();
  }

  #begin() {
    const getToken = async () => (await (await fetch(`${this.url}/conformance/token?user=${this.user}`)).json()).token;
    const { url, user } = this;
    this.client = new Heartline({ user, url, getToken, device: 'node', storage: this.#storage, WebSocket: Socket });
    this.client.addEventListener('fault', (event) => event.preventDefault());
    this.client.connect();
  }

  play({ kind, oid, dur }) {
    if (oid !== this.#oid) {
      this.#playback?.stop();
      this.#player?.end();
      this.#player = new Player();
      this.#player.duration = dur / 1000;
      this.#playback = this.client.resume(this.#player, { kind, oid });
      this.#oid = oid;
    }
    this.#player.play();
  }

  pause() {
    this.#player.pause();
  }

  seek({ pos }) {
    this.#player.seek(pos / 1000);
  }

  // It plays in the same element, which then goes on where it was.
  async advertise({ ms }) {
    const { currentTime } = this.#player;
    this.#playback.suspend();
    this.#player.seek(0);
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#player.seek(currentTime);
    this.#playback.continue();
  }

  hide() {
    this.client.hide();
  }

  async delete({ kind, oid }) {
    await this.client.get({ kind, oid });
    await this.client.delete({ kind, oid });
  }

  async clear() {
    await this.client.list();
    await this.client.clear();
  }

  // The process ends without a word, and another one begins with the same storage.
  reload() {
    this.stop();
    this.#oid = this.#playback = this.#player = null;
    this.#begin();
  }

  stop() {
    this.#player?.end();
    this.client.disconnect();
  }
}

async function work(worker) {
  let device = null;
  for (;;) {
    const instruction = await (await fetch(`${kit}/conformance/next?worker=${worker}`)).json();
    if (instruction.do === 'done') return;
    if (instruction.do === 'start') device = new Device(instruction);
    else await device[instruction.do](instruction);
  }
}

await Promise.all(Array.from({ length: Number(workers) }, (_, worker) => work(worker)));
