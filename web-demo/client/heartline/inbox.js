/** What the gateway sends: given to the part that it concerns, and told as an event. */

import { isWelcomeOf } from './arguments.js';
import { newSession } from './reporter.js';

/** Errors of which three in a row end the connection, unless a valid frame comes between them. */
const COUNTED = ['invalid', 'too_many'];

export class Inbox {
  #parts;
  #user;
  #on;
  /** Between two beats of a playing element, in milliseconds; from the welcome. */
  interval = 5_000;

  /**
   * @param {object} parts
   * @param {import('./connection.js').Connection} parts.connection
   * @param {import('./delivery.js').Delivery} parts.delivery
   * @param {import('./requests.js').Requests} parts.requests
   * @param {import('./playbacks.js').Playbacks} parts.playbacks
   * @param {import('./clock.js').ServerClock} parts.clock
   * @param {import('./seen.js').Seen} parts.seen
   * @param {string} user
   * @param {object} on
   * @param {(type: any, detail: any) => unknown} on.event
   * @param {(beat: import('./beat.js').Beat) => void} on.made
   * @param {(message: string) => void} on.fault
   */
  constructor(parts, user, on) {
    this.#parts = parts;
    this.#user = user;
    this.#on = on;
  }

  /**
   * @param {string} kind
   * @param {any} body
   */
  received(kind, body) {
    const { delivery, requests } = this.#parts;
    if (kind === 'welcome') this.#welcomed(body);
    else if (kind === 'ack') delivery.ack(body);
    else if (kind === 'result') requests.resolve(body);
    else if (kind === 'error') this.#failed(body);
    else if (kind === 'push') this.#pushed(body);
    else if (kind === 'reward') this.#on.event(kind, body);
  }

  /** The gateway has stored this beat. @param {import('./beat.js').Beat} beat */
  accepted(beat) {
    this.#parts.seen.saw(beat);
    this.#parts.playbacks.accepted(beat);
  }

  /** It has not. @param {any} parts */
  rejected({ beat, reason, record, newest }) {
    const { seen, playbacks, clock } = this.#parts;
    seen.saw(record);
    this.#on.event('rejected', { beat, reason, record });
    const playing = playbacks.rejected(beat, reason, record);
    if (playing || reason !== 'clock' || !newest) return;
    // The last beat of a playback that is over was ahead of the clock, which is right now: it is said again.
    const session = newSession();
    playbacks.own(session);
    this.#on.made({ ...beat, session, at: clock.now() });
  }

  /** @param {any} welcome */
  #welcomed(welcome) {
    const { connection, delivery, requests, clock } = this.#parts;
    if (!isWelcomeOf(welcome, this.#user)) {
      this.#on.fault(`the token is of user ${welcome.sub ?? welcome.mid}, not of ${this.#user}`);
      connection.stop('the token is of another user');
      return;
    }
    clock.rebase(welcome.now, connection.triedAt);
    this.interval = welcome.interval;
    delivery.begin(welcome);
    this.#on.event('welcome', welcome);
    delivery.pump();
    requests.pump();
  }

  /** @param {any} push */
  #pushed(push) {
    const { delivery, seen, playbacks } = this.#parts;
    const { record, deleted, cleared, recording } = push;
    delivery.flag(push.flag);
    seen.saw(record);
    if (record) this.#on.event('record', { record });
    if (record) playbacks.moved(record);
    if (deleted) this.#on.event('deleted', push);
    if (cleared) this.#on.event('cleared', push);
    if (recording) this.#on.event('recording', recording);
  }

  /** @param {any} error */
  #failed(error) {
    const { connection, delivery, requests } = this.#parts;
    if (COUNTED.includes(error.code)) connection.sayHello();
    const known = delivery.error(error) || requests.reject(error);
    if (!known) this.#on.fault(`${error.code}: ${error.message}`);
  }
}
