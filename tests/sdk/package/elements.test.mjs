// Players whose element behaves like a media element need no adapter: what is resumed is the element.
import { Film, Gateway, record, until } from './page.mjs';
import assert from 'node:assert/strict';
import { test } from 'node:test';

const { Heartline } = await import('@heartline/client');
const CONTENT = { kind: 1, oid: '100' };

// Resumes at 30 s, plays a second and pauses.
async function watched(element, inner = element) {
  const gateway = new Gateway({ '1/100': record('100', 30) });
  const heartline = new Heartline(gateway.options());
  const film = new Film(inner);
  heartline.connect();
  const playback = heartline.resume(element, CONTENT);
  await playback.place;
  assert.equal(inner.currentTime, 30);
  film.play();
  film.advance(1);
  film.pause();
  await until('the beats', () => gateway.beats.length >= 2);
  assert.deepEqual(gateway.states, ['100 31 playing', '100 31 paused']);
  playback.stop();
  heartline.close();
}

test('hls.js', async () => {
  const { default: Hls } = await import('hls.js');
  const video = document.body.appendChild(document.createElement('video'));
  const hls = new Hls({ enableWorker: false });
  hls.attachMedia(video);
  await watched(video);
  hls.destroy();
});

test('Shaka', async () => {
  const { default: shaka } = await import('shaka-player');
  const video = document.body.appendChild(document.createElement('video'));
  const player = new shaka.Player();
  await player.attach(video, false).catch(() => {});  // jsdom has no MediaSource
  await watched(video);
});

test('media-chrome', async () => {
  await import('media-chrome');
  document.body.innerHTML = '<media-controller><video slot="media"></video></media-controller>';
  const controller = document.querySelector('media-controller');
  assert.ok(controller.shadowRoot, 'the element is defined');
  await watched(controller.media || document.querySelector('video'));
});

test('mux-player, by its own element', async () => {
  await import('@mux/mux-player');
  const player = document.body.appendChild(document.createElement('mux-player'));
  const video = await until('its video', () => player.media && player.media.nativeEl);
  await watched(player, video);
});
