/**
 * Heartline in React Native: a storage, the app's state, and players that are no media elements.
 *
 *   const storage = await openStorage(AsyncStorage);
 *   const heartline = new Heartline({ user, getToken, url, storage });
 *   followApp(heartline, AppState);
 *   heartline.resume(expoVideo(player), content);
 */

/** @typedef {import('./heartline.js').Heartline} Heartline */

/** What moves by more than this, and was not played, was sought. */
const JUMP_SECONDS = 2;

/**
 * A storage for the client from one whose calls take time: it is read once, and written behind.
 * @param {{ getAllKeys: () => Promise<readonly string[]>, getItem: (key: string) => Promise<string | null>,
 *   setItem: (key: string, value: string) => Promise<any>, removeItem: (key: string) => Promise<any> }} storage
 * @param {string} [name]  the client's `storageName`
 */
export async function openStorage(storage, name = 'heartline') {
  /** @type {Map<string, string>} */
  const items = new Map();
  for (const key of await storage.getAllKeys()) {
    const value = key.startsWith(`${name}/`) ? await storage.getItem(key) : null;
    if (value !== null) items.set(key, value);
  }
  /** One write after the other, so that the last of a key is the last. A failed one leaves what was there. */
  let written = Promise.resolve();
  /** @param {'setItem' | 'removeItem'} act @param {string} key @param {any} [value] */
  const write = (act, key, value) => { written = written.then(() => storage[act](key, value)).catch(() => {}); };
  return {
    get length() { return items.size; },
    /** @param {number} index */
    key: index => [...items.keys()][index] || null,
    /** @param {string} key */
    getItem: key => items.get(key) ?? null,
    /** @param {string} key @param {string} value */
    setItem(key, value) {
      items.set(key, value);
      write('setItem', key, value);
    },
    /** @param {string} key */
    removeItem(key) {
      items.delete(key);
      write('removeItem', key);
    },
    /** Settles when all is written. */
    written: () => written,
  };
}

/**
 * Tells the client when the app goes to the background. Returns what ends that.
 * @param {Heartline} heartline
 * @param {{ addEventListener: (type: 'change', listener: (state: any) => void) => { remove: () => void } }} appState
 */
export function followApp(heartline, appState) {
  // It may tell of being inactive first, and of the background then: to hide twice changes nothing.
  const subscription = appState.addEventListener('change', state => state === 'active' || heartline.hide());
  return () => subscription.remove();
}

/** What a native player tells, in the words of a media element. */
class NativeSource {
  /** @type {Record<string, ((event: any) => void)[]>} */
  #listeners = {};
  /** Where a seek of the client goes, until the player is there. @type {number | null} */
  #goal = null;
  #seenAt = 0;
  position = 0;
  duration = NaN;
  paused = true;
  ended = false;
  playbackRate = 1;
  readyState = 0;

  /** @param {(seconds: number) => void} seek */
  constructor(seek) {
    this.seek = seek;
  }

  get currentTime() {
    return this.position;
  }

  set currentTime(seconds) {
    this.seek(seconds);
    this.#goal = seconds;
    this.jump(seconds);
  }

  /** @param {string} type @param {(event: any) => void} listener */
  addEventListener(type, listener) {
    this.#listeners[type] = this.#of(type).concat(listener);
  }

  /** @param {string} type @param {(event: any) => void} listener */
  removeEventListener(type, listener) {
    this.#listeners[type] = this.#of(type).filter(other => other !== listener);
  }

  /** @param {string} type */
  #of(type) {
    return this.#listeners[type] || [];
  }

  /** @param {string[]} types */
  say(...types) {
    for (const type of types) this.#of(type).forEach(listener => listener({ type }));
  }

  /** It stands there, without having played until there. @param {number} seconds */
  jump(seconds) {
    this.position = seconds;
    this.#seenAt = Date.now();
    this.ended = false;
    this.say('seeking', 'seeked');
  }

  /** The player says where it is. @param {number} seconds */
  at(seconds) {
    const moved = seconds - this.position;
    if (this.#goal !== null && Math.abs(moved) > JUMP_SECONDS) return;  // it is not there yet
    this.#goal = null;
    const played = this.paused ? 0 : (Date.now() - this.#seenAt) / 1000 * this.playbackRate;
    if (moved < -JUMP_SECONDS || moved > played + JUMP_SECONDS) return this.jump(seconds);
    this.position = seconds;
    this.#seenAt = Date.now();
    this.say('timeupdate');
  }

  /** @param {boolean} plays */
  plays(plays) {
    if (plays === !this.paused) return;
    this.paused = !plays;
    this.#seenAt = Date.now();
    this.say(...(plays ? ['play', 'playing'] : ['pause']));
  }

  /** It is there, with this length. @param {number} duration */
  loaded(duration) {
    this.duration = duration;
    this.readyState = 4;
    this.say('loadedmetadata');
  }

  /** It plays something else, which is not there yet. */
  emptied() {
    this.position = this.readyState = 0;
    this.duration = NaN;
    this.#goal = null;
    this.say('emptied');
  }

  finished() {
    this.ended = true;
    this.say('ended');
  }
}

/**
 * A player of expo-video.
 * @param {any} player
 */
export function expoVideo(player) {
  const source = new NativeSource(seconds => { player.currentTime = seconds; });
  player.timeUpdateEventInterval ||= 1;  // otherwise it does not say where it is
  /** @type {Record<string, (event: any) => void>} */
  const acts = {
    sourceChange: () => source.emptied(),
    sourceLoad: ({ duration }) => source.loaded(duration),
    timeUpdate: ({ currentTime }) => {
      source.playbackRate = player.playbackRate;
      source.at(currentTime);
    },
    playingChange: ({ isPlaying }) => source.plays(isPlaying),
    playToEnd: () => source.finished(),
  };
  for (const type in acts) player.addListener(type, acts[type]);
  if (player.status === 'readyToPlay') {
    source.position = player.currentTime;
    source.loaded(player.duration);
  }
  source.plays(player.playing);
  return source;
}

/**
 * A player of react-native-video: `const source = reactNativeVideo(ref)`, and `<Video ref={ref} {...source.props} />`.
 * @param {{ current: { seek: (seconds: number) => void } | null }} ref
 */
export function reactNativeVideo(ref) {
  const source = new NativeSource(seconds => ref.current && ref.current.seek(seconds));
  return Object.assign(source, {
    /** @type {Record<string, (event: any) => void>} */
    props: {
      onLoadStart: () => source.emptied(),
      onLoad: ({ duration }) => source.loaded(duration),
      onProgress: ({ currentTime }) => source.at(currentTime),
      onSeek: ({ currentTime }) => source.at(currentTime),
      onPlaybackStateChanged: ({ isPlaying }) => source.plays(isPlaying),
      onPlaybackRateChange: ({ playbackRate }) => { if (playbackRate > 0) source.playbackRate = playbackRate; },
      onEnd: () => source.finished(),
    },
  });
}
