/**
 * One device of the page: a video, a client of its own, and what the user can do to both.
 *
 * Events, all CustomEvents:
 *   acked      { beats, ms }          beats that one acked frame carried
 *   offered    { record }             the device offers to continue this record of another playback
 *   lost       { code, cut }          a connection that stood is gone; cut: the user cut it
 *   welcomed   { unanswered }         connected, with the beats of these keys to send again
 *   settled                           connected, and every beat is answered
 *   dropped                           the outbox was full, and a beat is gone
 *   forgotten  { contents }           the user deletes, or has deleted, these contents; null: all
 *   heard      { day }                a frame came from the gateway, and maybe the reward day with it
 */

import { CONTENTS, KIND } from './contents.js';
import { CutOff } from './cut-off.js';
import { DemoClient } from './demo-client.js';
import { isAway } from './demo-token.js';
import { DeviceView } from './device-view.js';
import { HeartLine } from './heart-line.js';
import { History } from './history.js';
import { Player } from './player.js';
import { Tape } from './tape.js';
import { audienceOf, followAudience } from './views/audience.js';
import { followViews, views } from './views/counts.js';
import { followWatching, watchingOf } from './watching.js';

const LATENCIES_KEPT = 100;

export class Device extends EventTarget {
  /** Called with a new token; the connection that it is for is made when the promise ends. */
  beforeConnecting = async () => {};
  #name;
  #user;
  #view;
  #player;
  #client;
  #online = false;
  /** The user has cut the connection, and it is not back yet. */
  #cut = false;
  #cutOff = new CutOff(() => this.#view.showCutOff(this.#cutOff.holds));
  #line;
  #tape;
  #history;
  #playback = null;
  #oid = null;
  /** Where to continue, and whether that is offered now: not to a device that plays. */
  #proposed = null;
  #offer = null;
  /** The `at` of the last record that took over from here. */
  #elsewhereAt = 0;
  #latencies = [];
  #question;
  /** Each ends something that this device follows. */
  #followed;

  /** @param {object} options  name, title, user, ackDelay, announce(text), question: asks before all is forgotten */
  constructor({ name, title, user, ackDelay, announce, question }) {
    super();
    this.#name = name;
    this.#user = user;
    this.#question = question;
    this.#view = new DeviceView({ name, title, announce });
    this.#line = new HeartLine(this.#view.role('line'));
    this.#tape = new Tape(name, title);
    this.#history = new History(this.#view.role('history'), CONTENTS, oid => this.#open(oid));
    this.#player = new Player(this.root, {
      moved: second => this.#line.moved(second),
      asked: work => this.#attempt(work),
      begin: () => this.#takeOffer(),
    });
    this.#client = new DemoClient({
      user, ackDelay, device: name,
      beforeConnecting: async token => {
        await this.#cutOff.over;
        await this.beforeConnecting(token);
      },
    });
    this.#listenToClient();
    this.#listenToControls();
    this.#view.role('content').append(...CONTENTS.map(({ oid, title }) => new Option(title, oid)));
    this.#open(CONTENTS[0].oid);
    this.#followed = [
      followWatching(() => this.#showWatching()),
      followViews(() => this.#showViews()),
      followAudience(() => this.#showAudience()),
    ];
    this.#client.connect();
  }

  get name() {
    return this.#name;
  }

  get root() {
    return this.#view.root;
  }

  /** Its frames, which are shown elsewhere. */
  get tape() {
    return this.#tape.root;
  }

  /** Whether it is to be connected: it is not while the user has switched it off, or the gateway has sent it away. */
  get wanted() {
    return !['offline', 'parked', 'stopped'].includes(this.#client.state);
  }

  /** Whether it is connected and every beat is answered. */
  get settled() {
    return this.#online && this.#client.unanswered === 0;
  }

  set ackDelay(milliseconds) {
    this.#client.ackDelay = milliseconds;
  }

  close() {
    for (const end of this.#followed) end();
    this.#cutOff.end();
    this.#client.close();
    this.#view.close();
    this.#player.close();
  }

  get #content() {
    return { kind: KIND, oid: this.#oid };
  }

  #emit(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #listenToClient() {
    const on = (type, act) => this.#client.addEventListener(type, ({ detail }) => act(detail));
    on('state', detail => this.#stateChanged(detail));
    on('reconnecting', ({ due }) => this.#view.showReconnecting(due));
    on('welcome', ({ recording }) => this.#welcomed(recording));
    on('frame', frame => this.#passed(frame));
    on('outbox', ({ size }) => this.#outboxChanged(size));
    on('beat', ({ beat }) => this.#line.beat(beat));
    on('acked', ({ frames }) => frames.forEach(frame => this.#acked(frame)));
    on('reward', reward => this.#view.showReward(reward));
    on('rejected', ({ beat, reason }) => this.#line.rejected(beat, reason));
    on('dropped', () => this.#emit('dropped'));
    on('elsewhere', ({ record }) => this.#continuedElsewhere(record));
    on('record', ({ record }) => this.#moved(record));
    on('deleted', ({ deleted }) => this.#forgotten(deleted));
    on('cleared', () => this.#allForgotten());
    on('recording', ({ paused }) => this.#view.showRecording(paused));
    this.#client.addEventListener('fault', event => {
      if (isAway(event.detail)) return event.preventDefault();
      this.#view.showFault(event.detail.message);
    });
    this.#view.showOutbox(this.#client.unanswered);
  }

  #listenToControls() {
    const press = (role, act) => this.#view.role(role).addEventListener('click', ({ currentTarget }) => {
      if (currentTarget.getAttribute('aria-disabled') !== 'true') this.#attempt(act());
    });
    press('resume', () => this.#player.playFrom(this.#takeOffer()));
    this.#view.role('cut').addEventListener('click', ({ detail }) => {
      // The second click of two at "Retry now" comes when this button is in its place.
      if (detail < 2) this.#cutConnection();
    });
    press('retry', async () => {
      this.#cutOff.end();
      this.#client.connect();
    });
    press('offline', async () => this.#switchNetwork());
    press('recording', async () => {
      const client = this.#client;
      const { paused } = await (this.#view.recordingPaused ? client.resumeRecording() : client.pauseRecording());
      this.#view.showRecording(paused);
    });
    press('delete', async () => {
      const contents = [this.#content];
      this.#emit('forgotten', { contents });  // its answer may be lost with the connection
      await this.#client.delete(contents);
      this.#forgotten(contents);
    });
    press('clear', async () => this.#clear());
    for (const type of ['play', 'pause', 'ended']) this.#player.media.addEventListener(type, () => this.#showOffer());
    this.#view.role('content').addEventListener('change', ({ target }) => this.#open(target.value));
  }

  // What the user does.

  #open(oid) {
    this.#playback?.stop();
    this.#oid = oid;
    this.#view.role('content').value = oid;
    this.#player.load(CONTENTS.find(content => content.oid === oid).src);
    this.#resume();
    this.#view.showElsewhere(null);
    this.#showWatching();
    this.#showViews();
    this.#showAudience();
    this.#propose(null);
  }

  #showWatching() {
    this.#view.showWatching(watchingOf(this.#oid));
  }

  #showViews() {
    const { counted, of } = views();
    this.#view.showViews(counted ? of(this.#oid).total : null);
  }

  #showAudience() {
    this.#view.showAudience(audienceOf(this.#oid));
  }

  /** Goes where the user was in the video now shown, and says so. */
  async #resume() {
    const onOffer = record => this.#propose(record);
    const playback = this.#client.resume(this.#player.media, this.#content, { onOffer });
    this.#playback = playback;
    const record = await playback.place;
    if (record?.device) this.#history.put(record);
    if (playback === this.#playback) this.#propose(record);
  }

  /** Where to resume, if that is offered; null otherwise. */
  #takeOffer() {
    const { resume } = this.#offer ?? { resume: null };
    this.#propose(null);
    return resume;
  }

  #cutConnection() {
    if (!this.#online) return;
    this.#cut = true;
    const { paused, ended } = this.#player.media;
    if (!paused && !ended) this.#cutOff.begin();
    this.#client.cut();
  }

  #switchNetwork() {
    this.#cutOff.end();
    if (this.#client.state === 'offline') this.#client.connect();
    else this.#client.disconnect();
  }

  async #clear() {
    const agreed = await this.#question.ask(`Forget every position of user ${this.#user}? This cannot be undone.`, 'Forget all');
    if (!agreed) return;
    this.#emit('forgotten', { contents: null });
    await this.#client.clear();
    this.#allForgotten();
  }

  /** What fails is shown, unless it only gave way: a play() to a pause, an answer to the loss of its connection. */
  async #attempt(work) {
    try {
      await work;
    } catch (error) {
      if (error.name !== 'AbortError' && error.code !== 'timeout' && error.code !== 'offline') this.#view.showFault(error.message);
    }
  }

  // What the server says.

  #stateChanged(detail) {
    const lost = this.#online && detail.state === 'waiting';
    this.#online = detail.state === 'online';
    this.#view.showState(detail);
    if (!this.#online) this.#tape.cut();
    if (lost) this.#emit('lost', { code: detail.code, cut: this.#cut });
    this.#outboxMayWait();
    if (this.#online) this.#cut = false;
    if (this.settled) this.#emit('settled');
  }

  #outboxChanged(size) {
    this.#view.showOutbox(size);
    this.#outboxMayWait();
    if (this.settled) this.#emit('settled');
  }

  #outboxMayWait() {
    if (!this.#online && this.#client.unanswered > 0) this.#cutOff.end();
  }

  #passed(frame) {
    this.#tape.frame(frame);
    if (frame.direction === 'in') this.#emit('heard', { day: frame.body.today ?? frame.body.flag });
  }

  #welcomed(recording) {
    this.#view.showRecording(recording.paused);
    this.#emit('welcomed', { unanswered: this.#client.unansweredKeys });
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
    this.#view.showAcked(beats);
    if (beats.some(({ session, at }) => session === this.#playback.session && at > this.#elsewhereAt)) {
      this.#propose(null);
      this.#view.showElsewhere(null);
    }
    this.#emit('acked', { beats, ms });
  }

  #moved(record) {
    this.#history.put(record);
    if (record.kind === KIND && record.oid === this.#oid) this.#propose(record);
  }

  #forgotten(contents) {
    for (const content of contents) {
      this.#history.remove(content);
      if (content.oid === this.#oid) this.#propose(null);
    }
    this.#emit('forgotten', { contents });
    this.#view.announce('position forgotten');
  }

  #allForgotten() {
    this.#history.fill([]);
    this.#propose(null);
    this.#emit('forgotten', { contents: null });
    this.#view.announce('all positions forgotten');
  }

  #continuedElsewhere(record) {
    this.#moved(record);
    this.#elsewhereAt = record.at;
    this.#view.showElsewhere(record);
  }

  /** Offers to continue where another session stopped. */
  #propose(record) {
    this.#proposed = record?.resume > 0 && record.session !== this.#playback.session ? record : null;
    this.#showOffer();
  }

  #showOffer() {
    const { paused, ended } = this.#player.media;
    this.#offer = paused || ended ? this.#proposed : null;
    this.#view.showOffer(this.#offer);
    if (this.#offer) this.#emit('offered', { record: this.#offer });
  }
}
