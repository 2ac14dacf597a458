/**
 * Video.js, for `heartline.resume(progressSource(player), content)`.
 *
 * A player of version 8 has methods where a media element has properties, and exchanges its element as it likes. One of
 * version 10 is a store around a media element, which is followed as it is.
 */

/**
 * @typedef {import('./heartline/source.js').ProgressSource} ProgressSource
 *
 * @typedef {object} Player8  A player of Video.js 8, as far as it is needed.
 * @property {(seconds?: number) => any} currentTime
 * @property {() => number | undefined} duration
 * @property {() => boolean} paused
 * @property {() => boolean} seeking
 * @property {() => boolean} ended
 * @property {() => number} readyState
 * @property {() => string} currentSrc
 * @property {(rate?: number) => any} playbackRate
 * @property {(type: any, listener: any) => any} on
 * @property {(type?: any, listener?: any) => any} off
 *
 * @typedef {{ target: any }} Store10
 * @typedef {Store10 | { store: Store10 }} Player10  A store of Video.js 10, or what has it, like `<video-player>`.
 */

/** One for each player: `resume` replaces what followed the same source. @type {WeakMap<object, ProgressSource>} */
const sources = new WeakMap();

/**
 * What `play` and `resume` follow; the same for the same player.
 * @param {Player8 | Player10} player
 * @returns {ProgressSource}
 */
export function progressSource(player) {
  const known = sources.get(player);
  if (known) return known;
  if (!('on' in player)) return mediaOf(player);
  const source = sourceOf(player);
  sources.set(player, source);
  return source;
}

/** @param {Player10} player @returns {ProgressSource} */
function mediaOf(player) {
  const { target } = 'store' in player ? player.store : player;
  if (!target || !target.media) throw new TypeError('the player has no media yet: wait until it is attached');
  return target.media;
}

/** @param {Player8} player @returns {ProgressSource} */
function sourceOf(player) {
  return {
    get currentTime() { return player.currentTime() || 0; },
    set currentTime(seconds) { player.currentTime(seconds); },
    get duration() { return player.duration() || NaN; },
    get paused() { return player.paused(); },
    get playbackRate() { return player.playbackRate(); },
    get seeking() { return player.seeking(); },
    get ended() { return player.ended(); },
    get readyState() { return player.readyState(); },
    get currentSrc() { return player.currentSrc(); },
    addEventListener: (type, listener) => player.on(type, listener),
    removeEventListener: (type, listener) => player.off(type, listener),
  };
}
