/**
 * Heartline's client for browsers, without dependencies: reports and queries playback positions.
 *
 *   const heartline = new Heartline({ url: 'https://watch.example', user: '42', getToken, device: 'tv-3f' });
 *   heartline.connect();
 *   const playback = heartline.resume(video, { kind: 1, oid: '100' }, { onOffer: record => offer(record) });
 *
 * Flow: media element → playback (makes beats) → outbox (keeps them) → delivery (frames, acks) → connection (socket).
 *
 * Its events are in heartline/events.js. A bad id or argument is a TypeError at once: thrown by the constructor,
 * `resume`, `play` and `markWatched`, a rejection of the requests.
 *
 * Requests (get, list, delete, clear, pauseRecording, resumeRecording, rewards) always settle: while the gateway is
 * away they wait for it, and after `timeout` (10 s unless given) they reject with a HeartlineError whose code is
 * `timeout`. While the client is offline or stopped they reject at once, with `offline`.
 */

import { Address } from './heartline/address.js';
import { checkedContent, checkedListener, checkedMedia, checkedUser } from './heartline/arguments.js';
import { ServerClock } from './heartline/clock.js';
import { Connection } from './heartline/connection.js';
import { Delivery } from './heartline/delivery.js';
import { Emitter } from './heartline/emitter.js';
import { Outbox, ownStorage } from './heartline/outbox.js';
import { History } from './heartline/history.js';
import { Http } from './heartline/http.js';
import { Inbox } from './heartline/inbox.js';
import { followPage } from './heartline/page.js';
import { Playbacks } from './heartline/playbacks.js';
import { Marks } from './heartline/marks.js';
import { HeartlineError, Requests } from './heartline/requests.js';
import { Seen } from './heartline/seen.js';
import { cut } from './heartline/text.js';

/**
 * @typedef {import('./heartline/arguments.js').GivenContent} Content
 * @typedef {import('./heartline/events.js').HeartlineEvents} HeartlineEvents
 * @typedef {import('./heartline/history.js').Page} Page
 * @typedef {import('./heartline/playback.js').Playback} Playback
 * @typedef {import('./heartline/beat.js').Beat} Beat
 * @typedef {import('./heartline/beat.js').StoredRecord} StoredRecord
 * @typedef {import('./heartline/source.js').ProgressSource} ProgressSource
 */

const CLIENT = 'heartline-js/1.0';
const DEVICE_BYTES_MAX = 64;
/** After so many attempts without a socket it is asked why; after so many, HTTP takes its place. */
const ACCIDENTS_MAX = 2;
const FAILURES_MAX = 3;

export { HeartlineError };

/** @extends {Emitter<HeartlineEvents>} */
export class Heartline extends Emitter {
  #clock = new ServerClock();
  #outbox;
  /** @type {Connection} */
  #connection;
  /** @type {Delivery} */
  #delivery;
  /** @type {Requests} */
  #requests;
  #history;
  #http;
  /** What is needed where no socket can be opened. @type {() => void} */
  #replaceSocket;
  /** Loaded when it is needed. @type {import('./heartline/fallback.js').Fallback | null} */
  #fallback = null;
  /** @type {Playbacks} */
  #playbacks;
  /** @type {Inbox} */
  #inbox;
  #marks;
  /** Lets go of the page. */
  #leavePage = () => {};
  /** @type {() => void} */
  #explain;

  /**
   * @param {object} options
   * @param {string | bigint | number} options.user  the user as the tokens name one (`sub`): each user has an outbox
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
    const own = checkedUser(user);
    if (typeof getToken !== 'function') throw new TypeError('getToken must be a function');
    if (debug) this.#writeToConsole();
    const [clock, seen] = [this.#clock, new Seen()];
    const address = new Address(url);
    const name = cut(String(device), DEVICE_BYTES_MAX);
    /** @type {(type: any, detail: any) => boolean} */
    const event = (type, detail) => this.emit(type, detail);
    const fault = (/** @type {string} */ message) => this.#fault(message);
    const dropped = (/** @type {Beat} */ beat) => event('dropped', { beat });
    const outbox = new Outbox({ storage, name: storageName, user: own, dropped });
    const connection = new Connection(
      {
        url: address.socket('/v1/connect'), auth, getToken, clock, WebSocket,
        hello: { device: name, client: CLIENT, ack_delay: ackDelay },
      },
      {
        event, fault,
        state: detail => this.#stateChanged(detail),
        received: (kind, body) => this.#inbox.received(kind, body),
        room: () => this.#pump(),
        owed: () => this.#delivery.owed || this.#requests.owed,
      },
    );
    this.#outbox = outbox;
    this.#connection = connection;
    const requests = this.#requests = new Requests(connection);
    const http = this.#http = new Http({ address, fetch, token: () => connection.token, refused: () => connection.refuse() });
    const delivery = this.#delivery = new Delivery({ connection, outbox, clock, http }, name, {
      event, fault,
      accepted: beat => this.#inbox.accepted(beat),
      rejected: detail => this.#inbox.rejected(detail),
    });
    this.#history = new History({
      clock, seen, itemsMax: () => connection.limits.items,
      ask: (operation, body, timeout) => this.#ask(operation, body, timeout),
    });
    const playbacks = this.#playbacks = new Playbacks({ clock, outbox }, {
      event, fault,
      interval: () => this.#inbox.interval,
      made: (beat, held) => this.#made(beat, held),
      release: content => delivery.release(content),
      ask: contents => this.#history.get(contents),
      reachable: () => this.state === 'online' || this.transport === 'http',
      action: () => connection.act(),
    });
    this.#marks = new Marks(clock, seen);
    this.#inbox = new Inbox({ connection, delivery, requests, playbacks, clock, seen }, own, {
      event, fault, made: beat => this.#made(beat),
    });
    this.#replaceSocket = () => fallback && this.#loadFallback({ connection, delivery, requests, http });
    this.#explain = () => this.#lookForReason(address, fetch);
    this.#leavePage = followPage({
      hidden: first => (first ? this.hide() : this.flush()),
      online: () => connection.hurry(),
      offline: () => connection.cutOff(),
    });
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
    this.#connection.act();
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

  /** The page, or the app, may be about to end: makes a last beat of what plays, and flushes. Pages do so by themselves. */
  hide() {
    this.#playbacks.hide();
    this.flush();
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
    for (const type of /** @type {const} */ (['state', 'frame'])) {
      this.addEventListener(type, ({ detail }) => console.debug(`heartline: ${type}`, detail));
    }
  }

  /** What the user asks is an act. */
  get #asking() {
    this.#connection.act();
    return this.#history;
  }

  /**
   * A browser does not say why no socket can be opened.
   * @param {Address} address
   * @param {typeof globalThis.fetch} fetch
   */
  async #lookForReason(address, fetch) {
    const origin = await import('./heartline/origin.js').catch(() => null);
    const page = globalThis.location ? ` (${globalThis.location.origin})` : '';
    if (origin && await origin.refusesOrigin(address, fetch)) {
      this.#fault(`the gateway refuses this page's origin${page}: add it to server.origins`);
    }
  }

  /** @param {Beat} beat */
  #made(beat, held = false) {
    if (this.#delivery.put(beat, held)) this.emit('beat', { beat });
  }

  /** @param {ConstructorParameters<typeof import('./heartline/fallback.js').Fallback>[0]} parts */
  async #loadFallback(parts) {
    // Where the module cannot be loaded, the next failure will do.
    const module = this.#fallback ? null : await import('./heartline/fallback.js').catch(() => null);
    if (module) {
      this.#fallback = this.#fallback || new module.Fallback(parts, {
        interval: () => this.#inbox.interval,
        changed: transport => {
          this.emit('transport', { transport });
          if (transport === 'http') this.#playbacks.reachable();
        },
      });
    }
    // While it was loaded a socket may have opened, or the client was told to go off the network.
    const { failures, state } = this.#connection;
    const tries = state === 'waiting' || state === 'connecting';
    if (this.#fallback && tries && failures >= FAILURES_MAX) this.#fallback.begin();
  }

  /** @param {HeartlineEvents['state']} detail */
  #stateChanged(detail) {
    const { state } = detail;
    const { failures } = this.#connection;
    const over = state === 'offline' || state === 'stopped';
    if (this.#fallback && (over || state === 'online')) this.#fallback.end();
    if (state === 'waiting' && failures >= FAILURES_MAX) this.#replaceSocket();
    if (state !== 'online') this.#delivery.end();
    if (over) this.#requests.refuse(state);
    else if (state !== 'online') this.#requests.end();
    this.emit('state', detail);
    if (state === 'online') this.#playbacks.reachable();
    if (state === 'waiting' && failures === ACCIDENTS_MAX) this.#explain();
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
