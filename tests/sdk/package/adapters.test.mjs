// The adapters of the package, with the players and with React as they are published.
import { Film, Gateway, record, until } from './page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { Heartline } = await import('@heartline/client');
const CONTENT = { kind: 1, oid: '100' };

function online(records = { '1/100': record('100', 30) }, options = {}) {
  const gateway = new Gateway(records);
  const heartline = new Heartline(gateway.options(options));
  heartline.connect();
  return { gateway, heartline };
}

test('Video.js 8', async () => {
  const { default: videojs } = await import('video.js');
  const { progressSource } = await import('@heartline/client/videojs');
  const video = document.body.appendChild(document.createElement('video'));
  const film = new Film(video);
  const player = videojs(video, { techOrder: ['html5'] });
  await until('the player', () => player.isReady_);
  assert.equal(progressSource(player), progressSource(player));
  const { gateway, heartline } = online();
  const playback = heartline.resume(progressSource(player), CONTENT);
  film.loaded();
  await playback.place;
  assert.equal(video.currentTime, 30);
  film.play();
  film.advance(1);
  film.pause();
  await until('the beats', () => gateway.beats.length >= 2);
  assert.deepEqual(gateway.states, ['100 31 playing', '100 31 paused']);
  assert.equal(gateway.beats[0].dur, 600_000);
  heartline.close();
  player.dispose();
});

test('Video.js 10', async () => {
  const { createPlayer, videoFeatures } = await import('@videojs/html');
  const { progressSource } = await import('@heartline/client/videojs');
  const { create } = createPlayer({ features: videoFeatures });
  const store = create();
  assert.throws(() => progressSource(store), TypeError);
  const video = document.body.appendChild(document.createElement('video'));
  const film = new Film(video);
  store.attach({ media: video, container: document.body });
  assert.equal(progressSource(store), video);
  assert.equal(progressSource({ store }), video);
  const { gateway, heartline } = online();
  const playback = heartline.resume(progressSource(store), CONTENT);
  await playback.place;
  film.play();
  film.advance(1);
  await until('the beat', () => gateway.beats.length >= 1);
  assert.deepEqual(gateway.states, ['100 31 playing']);
  heartline.close();
});

// A player as Vidstack's storage sees it.
class Vidstack extends EventTarget {
  state = { duration: 600, paused: true, playbackRate: 1, seeking: false, ended: false, canPlay: false, source: { src: 'a.mp4' } };
  #position = 0;

  get currentTime() { return this.#position; }
  set currentTime(seconds) {
    this.#position = seconds;
    this.say('seeking', 'seeked');
  }

  play(seconds) {
    this.state.paused = false;
    this.say('play', 'playing');
    this.#position += seconds;
    this.say('time-update');
  }

  say(...types) {
    for (const type of types) this.dispatchEvent(new Event(type));
  }
}

test('Vidstack', async () => {
  const { HeartlineStorage } = await import('@heartline/client/vidstack');
  const player = new Vidstack();
  const { gateway, heartline } = online({ '1/100': record('100', 30), '1/200': record('200', 50) });
  const kept = [];
  const settings = { getVolume: async () => 0.5, setVolume: async (volume) => kept.push(volume) };
  const contentOf = ({ src }) => ({ kind: 1, oid: src === 'a.mp4' ? '100' : '200' });
  const storage = new HeartlineStorage(heartline, player, { contentOf, settings });
  assert.equal(await storage.getTime(), null);
  assert.equal(await storage.getVolume(), 0.5);
  await storage.setVolume(0.7);
  assert.deepEqual(kept, [0.7]);
  storage.onChange({ src: 'a.mp4' }, 'a');
  player.state.canPlay = true;
  player.say('can-play');
  await storage.playback.place;
  assert.equal(player.currentTime, 30);
  player.play(1);
  await until('the beat', () => gateway.beats.length >= 1);
  player.currentTime = 0;
  storage.onChange({ src: 'b.mp4' }, 'b');
  await storage.playback.place;
  assert.equal(player.currentTime, 50);
  storage.onDestroy();
  assert.equal(storage.playback, null);
  assert.equal(gateway.states[0], '100 31 playing');
  heartline.close();
});

test("React Native: a storage that takes time, and the app's state", async () => {
  const { followApp, openStorage } = await import('@heartline/client/native');
  const kept = new Map([['other', 'x'], ['heartline/9/a', '[]']]);
  const slow = (act) => new Promise((resolve) => setTimeout(() => resolve(act()), 5));
  const AsyncStorage = {
    getAllKeys: () => slow(() => [...kept.keys()]),
    getItem: (key) => slow(() => kept.get(key) ?? null),
    setItem: (key, value) => slow(() => kept.set(key, value)),
    removeItem: (key) => slow(() => kept.delete(key)),
  };
  const storage = await openStorage(AsyncStorage);
  assert.deepEqual([storage.length, storage.key(0), storage.getItem('heartline/9/a'), storage.getItem('other')], [1, 'heartline/9/a', '[]', null]);
  const heartline = new Heartline(new Gateway().options({ storage }));
  heartline.markWatched(CONTENT, 60_000);
  await storage.written();
  assert.ok([...kept.keys()].some((key) => key.startsWith('heartline/1/1/100/')));
  let told;
  const appState = { addEventListener: (_, listener) => { told = listener; return { remove: () => { told = null; } }; } };
  let hidden = 0;
  const end = followApp({ hide: () => { hidden += 1; } }, appState);
  for (const state of ['background', 'active', 'background']) told(state);
  assert.equal(hidden, 2);
  end();
  assert.equal(told, null);
});

test('React Native: expo-video', async () => {
  const { expoVideo } = await import('@heartline/client/native');
  const listeners = {};
  const player = {
    status: 'loading', playing: false, playbackRate: 1, timeUpdateEventInterval: 0, currentTime: 0, duration: 0,
    addListener: (type, listener) => { listeners[type] = listener; },
  };
  const { gateway, heartline } = online();
  const source = expoVideo(player);
  assert.equal(player.timeUpdateEventInterval, 1);
  const playback = heartline.resume(source, CONTENT);
  listeners.sourceLoad({ duration: 600 });
  await playback.place;
  assert.equal(player.currentTime, 30);
  listeners.playingChange({ isPlaying: true });
  listeners.timeUpdate({ currentTime: 0 });  // it has not gone there yet
  listeners.timeUpdate({ currentTime: 30.5 });
  listeners.timeUpdate({ currentTime: 31 });
  listeners.timeUpdate({ currentTime: 200 });  // the viewer has moved
  listeners.playingChange({ isPlaying: false });
  await until('the beats', () => gateway.beats.at(-1)?.state === 'paused');
  assert.ok(gateway.states.includes('100 200 seeked'), String(gateway.states));
  assert.equal(gateway.beats.at(-1).watched, 1_000);
  heartline.close();
});

test('React Native: react-native-video', async () => {
  const { reactNativeVideo } = await import('@heartline/client/native');
  const sought = [];
  const { gateway, heartline } = online();
  const source = reactNativeVideo({ current: { seek: (seconds) => sought.push(seconds) } });
  const { props } = source;
  const playback = heartline.resume(source, CONTENT);
  props.onLoadStart({});
  props.onLoad({ duration: 600, currentTime: 0 });
  await playback.place;
  assert.deepEqual(sought, [30]);
  props.onSeek({ currentTime: 30, seekTime: 30 });
  props.onPlaybackStateChanged({ isPlaying: true, isSeeking: false });
  props.onProgress({ currentTime: 31 });
  props.onEnd();
  await until('the end', () => gateway.beats.at(-1)?.state === 'ended');
  heartline.close();
});

test('React', async () => {
  const { createElement, useRef } = await import('react');
  const { createRoot } = await import('react-dom/client');
  const { HeartlineProvider, useContinueWatching, useResume } = await import('@heartline/client/react');
  const gateway = new Gateway({ '1/100': record('100', 30) });
  const heartline = new Heartline(gateway.options());
  const shown = {};
  function Player({ oid }) {
    const video = useRef(null);
    Object.assign(shown, useResume(video, { kind: 1, oid }));
    return createElement('video', { ref: (element) => {
      if (element && !video.current) shown.film = new Film(element);
      video.current = element || video.current;
    } });
  }
  function Row() {
    shown.row = useContinueWatching({ limit: 5 });
    return null;
  }
  const root = createRoot(document.body.appendChild(document.createElement('div')));
  const render = (oid) => root.render(
    createElement(HeartlineProvider, { client: heartline }, createElement(Player, { oid }), createElement(Row)),
  );
  render('100');
  await until('the row', () => shown.row && shown.row.records);
  assert.deepEqual(shown.row.records.map(({ oid }) => oid), ['100']);
  const first = shown.playback;
  await first.place;
  assert.equal(document.querySelector('div video').currentTime, 30);
  shown.film.play();
  shown.film.advance(1);
  await until('the beat', () => gateway.beats.length >= 1);
  const lists = gateway.lists;
  gateway.socket.answer({ push: { record: record('300', 9) } });
  await until('another list', () => gateway.lists > lists);
  render('200');
  assert.equal(await first.stopped, 'stopped');
  const second = await until('another playback', () => shown.playback !== first && shown.playback);
  assert.equal(second.content.oid, '200');
  // Where the viewer has moved, it asks.
  gateway.records['1/300'] = record('300', 90);
  shown.film.advance(6);
  shown.film.advance(6);
  render('300');
  await until('the offer', () => shown.offer);
  assert.equal(shown.offer.resume, 90_000);
  shown.accept();
  await until('no offer', () => shown.offer === null);
  assert.equal(document.querySelector('div video').currentTime, 90);
  root.unmount();
  await until('the end', () => heartline.state === 'offline');
  assert.equal(gateway.states[0], '100 31 playing');
});

test('without a page nothing is looked for, and without a client the hooks do nothing', async () => {
  const { createElement } = await import('react');
  const { renderToString } = await import('react-dom/server');
  const { HeartlineProvider, useContinueWatching, useHeartline, useResume } = await import('@heartline/client/react');
  function Nothing() {
    useResume(null, null);
    return `${useHeartline()} ${useContinueWatching().records}`;
  }
  assert.equal(renderToString(createElement(HeartlineProvider, { client: null }, createElement(Nothing))), 'null null');
});
