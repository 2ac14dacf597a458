/** One device of the page: a video, a client of its own, and what the user can do to both. */

import { CONTENTS, KIND } from './contents.js';
import { DeviceView } from './device-view.js';
import { HeartLine } from './heart-line.js';
import { Heartline } from './heartline.js';
import { History } from './history.js';
import { Tape } from './tape.js';

const LATENCIES_KEPT = 100;
const TOKEN_SECONDS = 3600;

export class Device {
  #name;
  #view;
  #video;
  #client;
  #socket = null;
  #line;
  #tape;
  #history;
  #playback = null;
  #oid = null;
  #offer = null;
  #latencies = [];
  #reportAcks;
  #reportWord;

  /**
   * @param {object} options  name, title, user, ackDelay, announce(text), acked(times): how long acks took, in ms,
   *   heard(day): something came from the gateway, and maybe the rewards' day with it
   */
  constructor({ name, title, user, ackDelay, announce, acked, heard }) {
    this.#name = name;
    this.#reportAcks = acked;
    this.#reportWord = heard;
    this.#view = new DeviceView({ name, title, announce });
    this.#video = this.#view.role('video');
    this.#line = new HeartLine(this.#view.role('line'));
    this.#tape = new Tape(this.#view.role('tape'));
    this.#history = new History(this.#view.role('history'), CONTENTS, oid => this.#open(oid));
    this.#client = this.#makeClient(user, ackDelay);
    this.#listenToClient();
    this.#listenToControls();
    this.#view.role('content').append(...CONTENTS.map(({ oid, title }) => new Option(title, oid)));
    this.#open(CONTENTS[0].oid);
    this.#client.connect();
  }

  get root() {
    return this.#view.root;
  }

  set ackDelay(milliseconds) {
    this.#client.ackDelay = milliseconds;
  }

  close() {
    this.#client.close();
    this.#video.removeAttribute('src');
    this.#video.load();
  }

  get #content() {
    return { kind: KIND, oid: this.#oid };
  }

  #makeClient(user, ackDelay) {
    const device = this;
    return new Heartline({
      user,
      ackDelay,
      device: this.#name,
      storageName: `heartline-demo/${this.#name}`,
      // Stands for the app's own back-end, which knows who is signed in.
      getToken: async () => {
        const answer = await fetch('/demo/token', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ mid: user, ttl: TOKEN_SECONDS }),
        });
        if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
        return (await answer.json()).token;
      },
      // The page keeps the socket to cut it under the client, which knows nothing of that, as a network would.
      WebSocket: class extends WebSocket {
        constructor(...parameters) {
          super(...parameters);
          device.#socket = this;
        }
      },
    });
  }

  #listenToClient() {
    const on = (type, act) => this.#client.addEventListener(type, ({ detail }) => act(detail));
    on('state', detail => this.#stateChanged(detail));
    on('welcome', ({ recording }) => this.#welcomed(recording));
    on('frame', frame => this.#passed(frame));
    on('outbox', ({ size }) => this.#view.showOutbox(size));
    on('beat', ({ beat }) => this.#line.beat(beat));
    on('acked', ({ frames }) => {
      frames.forEach(frame => this.#acked(frame));
      this.#reportAcks(frames.map(({ ms }) => ms));
    });
    on('reward', reward => this.#view.showReward(reward));
    on('rejected', ({ beat, reason }) => this.#line.rejected(beat, reason));
    on('elsewhere', ({ record }) => this.#continuedElsewhere(record));
    on('record', ({ record }) => this.#moved(record));
    on('deleted', ({ deleted }) => deleted.forEach(content => this.#forgotten(content)));
    on('cleared', () => this.#allForgotten());
    on('recording', ({ paused }) => this.#view.showRecording(paused));
    on('fault', ({ message }) => this.#view.showFault(message));
    this.#view.showOutbox(this.#client.unanswered);
  }

  #listenToControls() {
    const press = (role, act) => this.#view.role(role).addEventListener('click', ({ currentTarget }) => {
      if (currentTarget.getAttribute('aria-disabled') !== 'true') this.#attempt(act());
    });
    press('play', async () => this.#toggle());
    press('resume', async () => this.#resume(this.#offer));
    press('sound', async () => this.#switchSound());
    press('cut', async () => this.#socket?.close());
    press('offline', async () => this.#switchNetwork());
    press('recording', async () => {
      const { paused } = await this.#client.recording(!this.#view.recordingPaused);
      this.#view.showRecording(paused);
    });
    press('delete', async () => {
      const content = this.#content;
      await this.#client.delete([content]);
      this.#forgotten(content);
    });
    press('clear', async () => {
      await this.#client.clear();
      this.#allForgotten();
    });
    this.#view.role('content').addEventListener('change', ({ target }) => this.#open(target.value));
    this.#view.role('seek').addEventListener('input', ({ target }) => { this.#video.currentTime = target.valueAsNumber; });
    this.#video.addEventListener('click', () => this.#attempt(this.#toggle()));
    for (const type of ['play', 'pause', 'ended']) this.#video.addEventListener(type, () => this.#view.showPlaying());
    for (const type of ['timeupdate', 'seeking', 'loadedmetadata']) this.#video.addEventListener(type, () => this.#progressed());
  }

  // What the user does.

  #open(oid) {
    this.#playback?.stop();
    this.#oid = oid;
    this.#view.role('content').value = oid;
    this.#video.src = CONTENTS.find(content => content.oid === oid).src;
    this.#playback = this.#client.play(this.#video, this.#content);
    this.#view.showElsewhere(null);
    this.#propose(null);
    if (this.#client.state === 'online') this.#attempt(this.#look());
  }

  /** Asks where the user is in the video now shown. */
  async #look() {
    const content = this.#content;
    const [record] = await this.#client.get([content]);
    if (record) this.#history.put(record);
    if (content.oid === this.#oid) this.#propose(record);
  }

  #resume(record) {
    this.#propose(null);
    this.#video.currentTime = record.resume / 1000;
    return this.#video.play();
  }

  async #toggle() {
    if (this.#video.paused) await this.#video.play();
    else this.#video.pause();
  }

  #switchSound() {
    this.#video.muted = !this.#video.muted;
    this.#view.showSound();
  }

  #switchNetwork() {
    if (this.#client.state === 'offline') this.#client.connect();
    else this.#client.disconnect();
  }

  /** What fails is shown, unless it only gave way: a play() to a pause, an answer to the loss of its socket. */
  async #attempt(work) {
    try {
      await work;
    } catch (error) {
      if (error.name !== 'AbortError' && error.code !== 'timeout' && error.code !== 'offline') this.#view.showFault(error.message);
    }
  }

  #progressed() {
    this.#view.showPosition();
    this.#line.moved(this.#video.currentTime);
  }

  // What the server says.

  #stateChanged(detail) {
    this.#view.showState(detail);
    if (detail.state !== 'online') this.#tape.cut();
  }

  #passed(frame) {
    this.#tape.frame(frame);
    if (frame.direction === 'in') this.#reportWord(frame.body.today ?? frame.body.flag);
  }

  #welcomed(recording) {
    this.#view.showRecording(recording.paused);
    this.#attempt(this.#list());
  }

  async #list() {
    const { records } = await this.#client.list({ limit: 20, kinds: [KIND] });
    this.#history.fill(records);
    this.#propose(this.#history.get(this.#content));
  }

  #acked({ seq, ms, beats }) {
    this.#tape.answered(seq, ms);
    for (const beat of beats) {
      this.#line.acked(beat, ms);
      this.#history.beat(beat, this.#name);
    }
    this.#latencies = [...this.#latencies, ms].slice(-LATENCIES_KEPT);
    const sorted = this.#latencies.toSorted((a, b) => a - b);
    this.#view.showLatency('latency-last', ms);
    this.#view.showLatency('latency-median', sorted[(sorted.length - 1) >> 1]);
    this.#view.showAcked(beats.at(-1));
    this.#view.ageRewards();
    if (beats.some(({ session }) => session === this.#playback.session)) {
      this.#propose(null);
      this.#view.showElsewhere(null);
    }
  }

  #moved(record) {
    this.#history.put(record);
    if (record.kind === KIND && record.oid === this.#oid) this.#propose(record);
  }

  #forgotten(content) {
    this.#history.remove(content);
    if (content.oid === this.#oid) this.#propose(null);
    this.#view.announce('the video is forgotten');
  }

  #allForgotten() {
    this.#history.fill([]);
    this.#propose(null);
    this.#view.announce('everything is forgotten');
  }

  #continuedElsewhere(record) {
    this.#moved(record);
    this.#view.showElsewhere(record);
  }

  /** Offers to go on where another session stopped. */
  #propose(record) {
    this.#offer = record?.resume > 0 && record.session !== this.#playback.session ? record : null;
    this.#view.showOffer(this.#offer);
  }
}
