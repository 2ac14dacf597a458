/**
 * Heartline's client for browsers, without dependencies: reports and queries playback positions.
 *
 *   const heartline = new Heartline({ url: 'https://watch.example', user: '42', getToken, device: 'tv-3f' });
 *   heartline.connect();
 *   const playback = heartline.resume(video, { kind: 1, oid: '100' }, { onOffer: record => offer(record) });
 *
 * Flow: media element → playback (makes beats) → outbox (keeps them) → delivery (frames, acks) → connection (socket).
 *
 * Events, each with its `detail`:
 *   state      { state, code, reason, delay }  offline, connecting, online, waiting, parked or stopped
 *   reconnecting { delay, due }    when the next attempt starts: in milliseconds from now, and by `performance.now()`;
 *                                  told again when that changes
 *   transport  { transport }       `http`: no socket can be opened, and HTTP takes its place; `socket`: it is back
 *   welcome    the server's welcome
 *   outbox     { size }            beats without an answer
 *   beat       { beat }            made, and in the outbox
 *   acked      { seq, frames: [{ seq, ms, beats }] }   what one ack answered, with the time it took
 *   rejected   { beat, reason, record }
 *   dropped    { beat }            the outbox was full, and gave up a session: this was its newest beat
 *   elsewhere  { beat, record }    another device took over what plays here; beat: the newest made here. Told once,
 *                                  until the user starts or moves this playback again; until then no beat is made
 *   unbound    { content, reason } a playback is over, and nothing is reported any more: stopped, replaced, closed,
 * media
 *                                  (the element plays something else) or gone (it was emptied for good)
 *   record     { record }          another device of the user moved
 *   deleted    { deleted, at }, cleared { at }, recording { paused }     on another device
 *   flag       { flag }            the user's daily decisions of this date are made; from now on it is sent along
 *   reward     { id, rule, day, kind, oid }   a beat of this client was the first; content rules name the content
 *   frame      { direction, kind, seq, bytes, body }   every frame; tokens are left out
 *   fault      { message }         something that needs a developer; also written to the console as an error, unless a
 *                                  listener calls `event.preventDefault()`
 *
 * A bad id or argument is a TypeError at once: thrown by the constructor, `resume`, `play` and `markWatched`, a
 * rejection of the requests.
 *
 * Requests (get, list, delete, clear, pauseRecording, resumeRecording, rewards) always settle: while the gateway is
 * away they wait for it, and after `timeout` (10 s unless given) they reject with a HeartlineError whose code is
 * `timeout`. While the client is offline or stopped they reject at once, with `offline`.
 */

import { Address } from './heartline/address.js';
import { checkedContent, checkedId, checkedListener, checkedMedia } from './heartline/arguments.js';
import { ServerClock } from './heartline/clock.js';
import { Connection } from './heartline/connection.js';
import { Delivery } from './heartline/delivery.js';
import { Emitter } from './heartline/emitter.js';
import { Fallback } from './heartline/fallback.js';
import { Outbox, ownStorage } from './heartline/outbox.js';
import { History } from './heartline/history.js';
import { Http } from './heartline/http.js';
import { followPage } from './heartline/page.js';
import { Playbacks } from './heartline/playbacks.js';
import { newSession } from './heartline/reporter.js';
import { Marks } from './heartline/marks.js';
import { refusesOrigin } from './heartline/origin.js';
import { HeartlineError, Requests } from './heartline/requests.js';
import { Seen } from './heartline/seen.js';
import { cut } from './heartline/text.js';

/**
 * @typedef {import('./heartline/arguments.js').GivenContent} Content
 * @typedef {import('./heartline/beat.js').Beat} Beat
 * @typedef {import('./heartline/beat.js').StoredRecord} StoredRecord
 * @typedef {import('./heartline/source.js').ProgressSource} ProgressSource
 */

const CLIENT = 'heartline-js/1.0';
const INTERVAL_MS = 5_000;
const DEVICE_BYTES_MAX = 64;
/** So many attempts without a socket are an accident. */
const ACCIDENTS_MAX = 2;

/** Errors of which three in a row end the connection, unless a valid frame comes between them. */
const COUNTED = ['invalid', 'too_many'];

export { HeartlineError };

export class Heartline extends Emitter {
  #user;
  #clock = new ServerClock();
  #outbox;
  /** @type {Connection} */
  #connection;
  /** @type {Delivery} */
  #delivery;
  #requests;
  #history;
  #http;
  /** @type {Fallback | null} */
  #fallback = null;
  #playbacks;
  /** From the welcome: between two beats of a playing element. */
  #interval = INTERVAL_MS;
  #seen = new Seen();
  #marks = new Marks(this.#clock, this.#seen);
  /** The local time of the last attempt to connect. */
  #connectingAt = 0;
  /** Lets go of the page. */
  #leavePage = () => {};
  /** Whether the gateway refuses pages like this one. @type {() => Promise<boolean>} */
  #lookForReason;

  /**
   * @param {object} options
   * @param {string | bigint | number} options.user  the user's id, the `sub` of the tokens: each user has an outbox
   * @param {(why: { refused: boolean }) => Promise<string>} options.getToken  a valid token; a new one if `refused`
   * @param {string | URL} [options.url]  where the gateway is, with the path that leads to it, if there is one: the page's
   *   own origin
   * @param {string} [options.device]  what other devices call this one; beyond 64 bytes it is cut
   * @param {Storage | null} [options.storage]  keeps the outbox beyond a reload: localStorage; null: memory only
   * @param {string} [options.storageName]  first part of the storage's keys, for several clients in one page
   * @param {'subprotocol' | 'hello'} [options.auth]  where the token goes
   * @param {number} [options.ackDelay]  how late acks of steady beats may come, in milliseconds
   * @param {boolean} [options.fallback]  whether HTTP takes the place of sockets where none can be opened
   * @param {boolean} [options.debug]  writes state changes and frames to the console, without tokens
   * @param {typeof globalThis.WebSocket} [options.WebSocket]
   * @param {typeof globalThis.fetch} [options.fetch]
   */
  constructor({
    user, getToken, url = '/', device = '', storage = ownStorage(), storageName = 'heartline',
    auth = 'subprotocol', ackDelay = 0, fallback = true, debug = false,
    WebSocket = globalThis.WebSocket, fetch = (...request) => globalThis.fetch(...request),
  }) {
    super();
    this.#user = checkedId(user, 'user');
    if (typeof getToken !== 'function') throw new TypeError('getToken must be a function');
    if (debug) this.#writeToConsole();
    const address = new Address(url);
    const name = cut(String(device), DEVICE_BYTES_MAX);
    this.#lookForReason = () => refusesOrigin(address, fetch);
    this.#outbox = new Outbox({
      storage, name: storageName, user: this.#user, dropped: (/** @type {Beat} */ beat) => this.emit('dropped', { beat }),
    });
    this.#connection = new Connection(
      {
        url: address.socket('/v1/connect'), auth, getToken, clock: this.#clock, WebSocket,
        hello: { device: name, client: CLIENT, ack_delay: ackDelay },
      },
      {
        state: detail => this.#stateChanged(detail),
        reconnecting: detail => this.emit('reconnecting', detail),
        frame: detail => this.emit('frame', detail),
        received: (kind, body) => this.#received(kind, body),
        room: () => this.#pump(),
        owed: () => this.#delivery.owed || this.#requests.owed,
        fault: message => this.#fault(message),
      },
    );
    this.#requests = new Requests(this.#connection);
    this.#http = new Http({ address, fetch, token: () => this.#connection.token, refused: () => this.#connection.refuse() });
    this.#delivery = new Delivery(
      { connection: this.#connection, outbox: this.#outbox, clock: this.#clock, http: this.#http },
      name,
      {
        acked: detail => this.emit('acked', detail),
        accepted: beat => this.#accepted(beat),
        rejected: detail => this.#rejected(detail),
        changed: () => this.emit('outbox', { size: this.#outbox.size }),
        flag: detail => this.emit('flag', detail),
        reward: detail => this.emit('reward', detail),
        fault: message => this.#fault(message),
        frame: detail => this.emit('frame', detail),
      },
    );
    if (fallback) this.#fallback = this.#newFallback();
    this.#history = new History({
      clock: this.#clock, seen: this.#seen, itemsMax: () => this.#connection.limits.items,
      ask: (operation, body, timeout) => this.#ask(operation, body, timeout),
    });
    this.#playbacks = new Playbacks(
      { clock: this.#clock, outbox: this.#outbox },
      {
        interval: () => this.#interval,
        made: (beat, held) => this.#made(beat, held),
        release: content => this.#delivery.release(content),
        ask: contents => this.#history.get(contents),
        reachable: () => this.state === 'online' || this.transport === 'http',
        action: () => this.#userActed(),
        elsewhere: detail => this.emit('elsewhere', detail),
        unbound: detail => this.emit('unbound', detail),
        fault: message => this.#fault(message),
      },
    );
    this.#leavePage = this.#followPage();
  }

  get state() {
    return this.#connection.state;
  }

  /**
   * What carries beats and requests: `http` while no socket can be opened and HTTP works. Pushes come over sockets
   * only.
   * @returns {'socket' | 'http'}
   */
  get transport() {
    return this.#fallback && this.#fallback.works ? 'http' : 'socket';
  }

  /** Beats without an answer. */
  get unanswered() {
    return this.#outbox.size;
  }

  /** Of each beat without an answer, what tells it from the others: its content, session and time. */
  get unansweredKeys() {
    return this.#outbox.entries().map(({ key, beat }) => `${key}/${beat.at}`);
  }

  /**
   * How late acks of steady beats may come from now on, in milliseconds; the server may cap it.
   * @param {number} milliseconds
   */
  set ackDelay(milliseconds) {
    this.#connection.introduce({ ack_delay: milliseconds });
  }

  /**
   * Goes online, and stays so through losses of the socket. Beats may be made before. While the client waits for its
   * next attempt to connect, this makes it at once.
   */
  connect() {
    this.#connection.open();
  }

  /** Goes off the network until `connect`; beats gather in the outbox. */
  disconnect() {
    this.#connection.close();
  }

  /** The end of this client: stops its playbacks, sends what is left, and lets go of the page. */
  close() {
    this.#playbacks.close();
    this.flush();
    this.#leavePage();
    this.disconnect();
  }

  /**
   * Resumes a content in a media element, or what behaves like one (see heartline/source.js), and reports it from then
   * on. It plays nothing by itself.
   *
   * As soon as it is known where the viewer was, the element goes there. A viewer who has moved meanwhile (seeked, or
   * watched on for more than 5 s) stays where they are, and `onOffer` is called with the record. Until it is known no
   * beat is sent. That holds while the gateway is away, too.
   * @param {ProgressSource} media
   * @param {Content} content
   * @param {{ onOffer?: (record: StoredRecord) => void }} [options]
   */
  resume(media, content, { onOffer } = {}) {
    const [source, checked] = [checkedMedia(media), checkedContent(content)];
    const offer = checkedListener(onOffer, 'onOffer');
    this.#userActed();
    return this.#playbacks.begin(source, checked, { held: true, onOffer: offer });
  }

  /**
   * Reports what a media element plays from now on, until the playback is over. For players that know where the viewer
   * was: the first beat replaces what the gateway has.
   * @param {ProgressSource} media
   * @param {Content} content
   */
  play(media, content) {
    const checked = checkedContent(content);
    return this.#playbacks.begin(checkedMedia(media), checked);
  }

  /**
   * Marks a content as watched to its end, without playing it. `dur`: its length in milliseconds, 0 if it has none. The
   * mark is a beat: it is kept until it is answered, and has the same events.
   * @param {Content} content
   * @param {number} dur
   */
  markWatched(content, dur) {
    const beat = this.#marks.make(content, dur);
    this.#playbacks.own(beat.session);
    this.#made(beat);
  }

  /**
   * Records of the given contents, a list or a single one, in their order; null where nothing is known.
   * @param {Content | Iterable<Content>} contents
   * @param {{ timeout?: number }} [options]
   * @returns {Promise<(StoredRecord | null)[]>}
   */
  async get(contents, { timeout } = {}) {
    return (await this.#asking.get(contents, timeout)).records;
  }

  /**
   * One page of the history, newest first: { records, cursor }, without a cursor at its end. `finished`: only records
   * that are finished (true), or that are not (false); such a page may be short, or empty, before the end.
   * @param {{ limit?: number, cursor?: string, kinds?: number | number[], finished?: boolean, timeout?: number }} [page]
   */
  list(page) {
    return this.#asking.list(page);
  }

  /**
   * Forgets contents, a list or a single one, as far as this client has seen them.
   * @param {Content | Iterable<Content>} contents
   * @param {{ timeout?: number }} [options]
   */
  delete(contents, { timeout } = {}) {
    return this.#asking.delete(contents, timeout);
  }

  /** Forgets everything of the user. @param {{ timeout?: number }} [options] */
  clear({ timeout } = {}) {
    return this.#asking.clear(timeout);
  }

  /**
   * Stops recording the user's positions, on all devices. Returns the state after it, { paused }.
   * @param {{ timeout?: number }} [options]
   */
  pauseRecording({ timeout } = {}) {
    return this.#asking.setRecording(true, timeout);
  }

  /**
   * Records the user's positions again. Returns the state after it, { paused }.
   * @param {{ timeout?: number }} [options]
   */
  resumeRecording({ timeout } = {}) {
    return this.#asking.setRecording(false, timeout);
  }

  /**
   * What the user has earned today: { day, rewards }. A reward that was lost with its socket is found here.
   * @param {{ timeout?: number }} [options]
   */
  rewards({ timeout } = {}) {
    return this.#http.get('/v1/rewards/today', timeout);
  }

  /** Sends what has no answer yet over HTTP, in a request that outlives the page. */
  flush() {
    if (this.state !== 'offline' && this.state !== 'stopped') this.#delivery.flush();
  }

  /** @param {string} message */
  #fault(message) {
    if (this.emit('fault', { message })) console.error(`heartline: ${message}`);
  }

  #writeToConsole() {
    for (const type of ['state', 'frame']) {
      this.addEventListener(type, ({ detail }) => console.debug(`heartline: ${type}`, detail));
    }
  }

  #followPage() {
    return followPage({
      hidden: first => {
        if (first) this.#playbacks.hide();
        this.flush();
      },
      online: () => this.#connection.hurry(),
      offline: () => this.#connection.cutOff(),
    });
  }

  #userActed() {
    this.#connection.act();
  }

  /** What the user asks is an act. */
  get #asking() {
    this.#userActed();
    return this.#history;
  }

  /** A browser does not say why no socket can be opened. */
  async #explain() {
    const page = globalThis.location ? ` (${globalThis.location.origin})` : '';
    if (await this.#lookForReason()) {
      this.#fault(`the gateway refuses this page's origin${page}: add it to server.origins`);
    }
  }

  /** @param {import('./heartline/beat.js').Beat} beat */
  #made(beat, held = false) {
    if (this.#delivery.put(beat, held)) this.emit('beat', { beat });
  }

  #newFallback() {
    const parts = { connection: this.#connection, delivery: this.#delivery, requests: this.#requests, http: this.#http };
    return new Fallback(parts, {
      interval: () => this.#interval,
      changed: transport => {
        this.emit('transport', { transport });
        if (transport === 'http') this.#playbacks.reachable();
      },
    });
  }

  /** @param {any} detail */
  #stateChanged(detail) {
    const { state } = detail;
    if (this.#fallback) this.#fallback.changed(state);
    if (state === 'connecting') this.#connectingAt = this.#clock.local();
    if (state !== 'online') this.#delivery.end();
    if (state === 'offline' || state === 'stopped') this.#requests.refuse(state);
    else if (state !== 'online') this.#requests.end();
    this.emit('state', detail);
    if (state === 'online') this.#playbacks.reachable();
    if (state === 'waiting' && this.#connection.failures === ACCIDENTS_MAX) this.#explain();
  }

  /**
   * @param {any} kind
   * @param {any} body
   */
  #received(kind, body) {
    if (kind === 'welcome') this.#welcomed(body);
    else if (kind === 'ack') this.#delivery.ack(body);
    else if (kind === 'result') this.#requests.resolve(body);
    else if (kind === 'error') this.#failed(body);
    else if (kind === 'push') this.#pushed(body);
    else if (kind === 'reward') this.emit('reward', body);
  }

  /** @param {any} welcome */
  #welcomed(welcome) {
    if (welcome.mid !== this.#user) {
      this.#fault(`the token is of user ${welcome.mid}, not of ${this.#user}`);
      this.#connection.stop('the token is of another user');
      return;
    }
    this.#clock.rebase(welcome.now, this.#connectingAt);
    this.#interval = welcome.interval;
    this.#delivery.begin(welcome);
    this.emit('welcome', welcome);
    this.#pump();
  }

  /** @param {any} push */
  #pushed(push) {
    this.#delivery.flag(push.flag);
    this.#seen.saw(push.record);
    if (push.record) this.emit('record', { record: push.record });
    if (push.record) this.#playbacks.moved(push.record);
    if (push.deleted) this.emit('deleted', push);
    if (push.cleared) this.emit('cleared', push);
    if (push.recording) this.emit('recording', push.recording);
  }

  /** @param {any} error */
  #failed(error) {
    if (COUNTED.includes(error.code)) this.#connection.sayHello();
    const known = this.#delivery.error(error) || this.#requests.reject(error);
    if (!known) this.#fault(`${error.code}: ${error.message}`);
  }

  /** @param {import('./heartline/beat.js').Beat} beat */
  #accepted(beat) {
    this.#seen.saw(beat);
    this.#playbacks.accepted(beat);
  }

  /** @param {any} parts */
  #rejected({ beat, reason, record, newest }) {
    this.#seen.saw(record);
    this.emit('rejected', { beat, reason, record });
    const playing = this.#playbacks.rejected(beat, reason, record);
    if (!playing && reason === 'clock' && newest) this.#madeAnew(beat);
  }

  /**
   * The last beat of a playback that is over was ahead of the clock, which is right now: it is said again.
   * @param {import('./heartline/beat.js').Beat} beat
   */
  #madeAnew(beat) {
    const session = newSession();
    this.#playbacks.own(session);
    this.#made({ ...beat, session, at: this.#clock.now() });
  }

  /**
   * @param {string} operation
   * @param {any} body
   * @param {number | undefined} timeout
   */
  #ask(operation, body, timeout) {
    const answer = this.#requests.ask(operation, body, timeout);
    if (this.#fallback) this.#fallback.hurry();
    return answer;
  }

  /** Beats first: a read then sees them. */
  #pump() {
    this.#delivery.pump();
    this.#requests.pump();
  }
}
