/**
 * A `MediaStorage` for Vidstack: the position of what a player plays is Heartline's business.
 *
 *   player.storage = new HeartlineStorage(heartline, player, { contentOf: source => ({ kind: 1, oid: ids[source.src] }) });
 *
 * Vidstack waits for the position before it plays. Playback must not wait for a gateway, so the storage tells it none:
 * the player is followed itself, and taken to the position when that is known.
 */

/**
 * @typedef {import('./heartline.js').Heartline} Heartline
 * @typedef {import('./heartline.js').Content} Content
 * @typedef {import('./heartline.js').Playback} Playback
 * @typedef {import('./heartline.js').StoredRecord} StoredRecord
 * @typedef {import('./heartline/source.js').ProgressSource} ProgressSource
 *
 * @typedef {object} Player  A player of Vidstack, as far as it is needed.
 * @property {number} currentTime
 * @property {{ duration: number, paused: boolean, playbackRate: number, seeking: boolean, ended: boolean, canPlay: boolean,
 *   source: { src: any } }} state
 * @property {(type: any, listener: any) => any} addEventListener
 * @property {(type: any, listener: any) => any} removeEventListener
 *
 * @typedef {object} Options
 * @property {(source: any, mediaId: string) => Content | null} contentOf  null: nothing is reported of this source
 * @property {(record: StoredRecord) => void} [onOffer]  as of `resume`
 * @property {any} [settings]  a `MediaStorage` that keeps volume, language and so on
 */

/** Events that Vidstack has under names of its own. @type {Record<string, string>} */
const NAMES = { timeupdate: 'time-update', loadedmetadata: 'can-play', durationchange: 'duration-change' };

/** What `play` and `resume` follow. @param {Player} player @returns {ProgressSource} */
export function progressSource(player) {
  return {
    get currentTime() { return player.currentTime; },
    set currentTime(seconds) { player.currentTime = seconds; },
    get duration() { return player.state.duration; },
    get paused() { return player.state.paused; },
    get playbackRate() { return player.state.playbackRate; },
    get seeking() { return player.state.seeking; },
    get ended() { return player.state.ended; },
    get readyState() { return player.state.canPlay ? 4 : 0; },
    get currentSrc() { return String(player.state.source.src); },
    addEventListener: (type, listener) => player.addEventListener(NAMES[type] || type, listener),
    removeEventListener: (type, listener) => player.removeEventListener(NAMES[type] || type, listener),
  };
}

export class HeartlineStorage {
  #heartline;
  #source;
  #options;
  /** Of what is played now. @type {Playback | null} */
  playback = null;
  // What is not Heartline's business.
  getVolume = this.#kept('getVolume');
  setVolume = this.#kept('setVolume');
  getMuted = this.#kept('getMuted');
  setMuted = this.#kept('setMuted');
  getLang = this.#kept('getLang');
  setLang = this.#kept('setLang');
  getCaptions = this.#kept('getCaptions');
  setCaptions = this.#kept('setCaptions');
  getPlaybackRate = this.#kept('getPlaybackRate');
  setPlaybackRate = this.#kept('setPlaybackRate');
  getVideoQuality = this.#kept('getVideoQuality');
  setVideoQuality = this.#kept('setVideoQuality');
  getAudioGain = this.#kept('getAudioGain');
  setAudioGain = this.#kept('setAudioGain');

  /**
   * @param {Heartline} heartline
   * @param {Player} player
   * @param {Options} options
   */
  constructor(heartline, player, options) {
    this.#heartline = heartline;
    this.#source = progressSource(player);
    this.#options = options;
  }

  /** @returns {Promise<number | null>} */
  async getTime() {
    return null;
  }

  /**
   * The player plays something else from now on.
   * @param {any} source
   * @param {string | null} mediaId
   * @param {string} [playerId]
   */
  onChange(source, mediaId, playerId) {
    const { settings, contentOf, onOffer } = this.#options;
    if (settings && settings.onChange) settings.onChange(source, mediaId, playerId);
    const content = mediaId === null ? null : contentOf(source, mediaId);
    this.#end();
    if (content) this.playback = this.#heartline.resume(this.#source, content, { onOffer });
  }

  onDestroy() {
    this.#end();
  }

  /** @param {string} name @returns {(...value: any[]) => Promise<any>} */
  #kept(name) {
    return async (...value) => {
      const { settings } = this.#options;
      return settings && settings[name] ? settings[name](...value) : null;
    };
  }

  #end() {
    if (this.playback) this.playback.stop();
    this.playback = null;
  }
}
