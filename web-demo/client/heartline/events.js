/** The client's events, each with its `detail`. */

/**
 * @typedef {import('./beat.js').Beat} Beat
 * @typedef {import('./beat.js').Content} Content
 * @typedef {import('./beat.js').StoredRecord} StoredRecord
 * @typedef {import('./connection.js').State} State
 * @typedef {import('./playback.js').Ending} Ending
 */

/**
 * @typedef {object} HeartlineEvents
 * @property {{ state: State, code?: number, reason?: string, delay?: number }} state  the connection has changed its
 *   state: offline, connecting, online, waiting, parked or stopped
 * @property {{ delay: number, due: number }} reconnecting  when the next attempt starts: in milliseconds from now, and by
 *   `performance.now()`; told again when that changes
 * @property {{ transport: 'http' | 'socket' }} transport  `http`: no socket can be opened, and HTTP takes its place;
 *   `socket`: it is back
 * @property {any} welcome  the server's welcome
 * @property {{ size: number }} outbox  beats without an answer
 * @property {{ beat: Beat }} beat  made, and in the outbox
 * @property {{ seq: number, frames: { seq: number, ms: number, beats: Beat[] }[] }} acked  what one ack answered, with
 *   the time it took
 * @property {{ beat: Beat, reason: string, record?: StoredRecord | null }} rejected
 * @property {{ beat: Beat }} dropped  the outbox was full, and gave up a session: this was its newest beat
 * @property {{ beat: Beat | null, record: StoredRecord }} elsewhere  another device took over what plays here; beat: the
 *   newest made here. Told once, until the user starts or moves this playback again; until then no beat is made
 * @property {{ content: Content, reason: Ending }} unbound  a playback is over, and nothing is reported any more: stopped,
 *   replaced, closed, media (the element plays something else) or gone (it was emptied for good)
 * @property {{ record: StoredRecord }} record  another device of the user moved
 * @property {{ deleted: Content[], at: number }} deleted  on another device
 * @property {{ cleared: boolean, at: number }} cleared  on another device
 * @property {{ paused: boolean }} recording  on another device
 * @property {{ flag: string }} flag  the user's daily decisions of this date are made; from now on it is sent along
 * @property {{ id: string, rule: string, day: string, kind?: number, oid?: string }} reward  a beat of this client was the
 *   first; content rules name the content
 * @property {{ direction: 'in' | 'out', kind: string, seq?: number, bytes: number, body?: any }} frame  every frame; tokens
 *   are left out
 * @property {{ message: string }} fault  something that needs a developer; also written to the console as an error, unless
 *   a listener calls `event.preventDefault()`
 */

export {};
