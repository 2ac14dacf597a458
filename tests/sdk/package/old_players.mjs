// Players without an EventTarget, as the client and its adapters see them.

// What all of them move: a position, and listeners of whatever names.
export class Player {
  position = 0;
  duration = NaN;
  paused = true;
  #listeners = {};

  add(type, act) {
    this.#listeners[type] = [...this.#listeners[type] || [], act];
  }

  remove(type, act) {
    this.#listeners[type] = (this.#listeners[type] || []).filter((each) => each !== act);
  }

  get left() {
    return Object.values(this.#listeners).flat().length;
  }

  say(types, detail = {}) {
    for (const type of types) (this.#listeners[type] || []).forEach((act) => act({ type, ...detail }));
  }

  load() {
    this.duration = 60;
    this.say(['loadedmetadata', 'can-play', 'sourceLoad', 'onLoad'], { duration: 60 });
  }

  play() {
    this.paused = false;
    this.say(['play', 'playing', 'playingChange', 'onPlaybackStateChanged'], { isPlaying: true });
  }

  advance(seconds) {
    this.position += seconds;
    this.say(['timeupdate', 'time-update', 'timeUpdate', 'onProgress'], { currentTime: this.position });
  }

  pause() {
    this.paused = true;
    this.say(['pause', 'playingChange', 'onPlaybackStateChanged'], { isPlaying: false });
  }
}

// A media element, or what is like one.
function element(player) {
  return {
    get currentTime() { return player.position; },
    set currentTime(seconds) { player.position = seconds; },
    get duration() { return player.duration; },
    get paused() { return player.paused; },
    addEventListener: (type, act) => player.add(type, act),
    removeEventListener: (type, act) => player.remove(type, act),
  };
}

function videojs8(player) {
  return {
    currentTime: (seconds) => (seconds === undefined ? player.position : (player.position = seconds)),
    duration: () => player.duration,
    paused: () => player.paused,
    seeking: () => false,
    ended: () => false,
    readyState: () => (player.duration ? 4 : 0),
    currentSrc: () => 'a.mp4',
    playbackRate: () => 1,
    on: (type, act) => player.add(type, act),
    off: (type, act) => player.remove(type, act),
  };
}

function vidstack(player) {
  return Object.defineProperties(element(player), {
    state: {
      get: () => ({
        duration: player.duration, paused: player.paused, playbackRate: 1, seeking: false, ended: false,
        canPlay: player.duration > 0, source: { src: 'a.mp4' },
      }),
    },
  });
}

function expo(player) {
  return Object.defineProperties(element(player), {
    status: { value: 'loading' },
    playing: { value: false },
    playbackRate: { value: 1 },
    timeUpdateEventInterval: { value: 0, writable: true },
    addListener: { value: (type, act) => player.add(type, act) },
  });
}

// Each resumes the content in the player.
export const PLAYERS = {
  async element(client, player, content) {
    return client.resume(element(player), content);
  },
  async videojs(client, player, content) {
    const { progressSource } = await import('@heartline/client/videojs');
    return client.resume(progressSource(videojs8(player)), content);
  },
  async vidstack(client, player, content) {
    const { HeartlineStorage } = await import('@heartline/client/vidstack');
    const storage = new HeartlineStorage(client, vidstack(player), { contentOf: () => content });
    storage.onChange({ src: 'a.mp4' }, 'a');
    return storage.playback;
  },
  async expoVideo(client, player, content) {
    const { expoVideo } = await import('@heartline/client/native');
    return client.resume(expoVideo(expo(player)), content);
  },
  async reactNativeVideo(client, player, content) {
    const { reactNativeVideo } = await import('@heartline/client/native');
    const source = reactNativeVideo({ current: { seek: (seconds) => { player.position = seconds; } } });
    for (const name in source.props) player.add(name, source.props[name]);
    return client.resume(source, content);
  },
  // It only follows what is rendered, and that is an element.
  async react(client, player, content) {
    await import('@heartline/client/react');
    return client.resume(element(player), content);
  },
};
