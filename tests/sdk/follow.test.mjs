// A source that is given something else, taken away, or interrupted: reporting goes on for the same content, or ends loudly.
// No gateway is needed: what is made waits in the outbox.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Heartline } from '../../web-demo/client/heartline.js';
import { Media } from './media.mjs';

const CONTENT = { kind: 1, oid: '100' };

// A viewer who has watched a minute.
function watching({ duration = 600, src = 'one.mp4' } = {}) {
  const client = new Heartline({ user: '1', getToken: async () => '', url: 'http://127.0.0.1:9', storage: null });
  const media = new Media();
  media.loaded(duration);
  media.currentSrc = src;
  const beats = [];
  const unbound = [];
  client.addEventListener('beat', ({ detail }) => beats.push(detail.beat));
  client.addEventListener('unbound', ({ detail }) => unbound.push(detail));
  const playback = client.play(media, CONTENT);
  media.play();
  media.seek(60);
  media.advance(1);
  return { client, media, playback, beats, unbound };
}

const last = (list) => list.at(-1);

// It plays on here: a pause is the next beat, whatever the interval.
function playOn({ media }, seconds = 1) {
  media.advance(seconds);
  media.pause();
  media.play();
}

test('another quality is the same content, at the place where it goes on', () => {
  for (const duration of [600, 600.4, 617]) {
    const here = watching();
    const { session, watched } = last(here.beats);
    here.media.load('other.mp4');
    here.media.loaded(duration);
    here.media.say('timeupdate');
    here.media.seek(60.5);
    here.media.say('playing');
    playOn(here);
    assert.deepEqual(here.unbound, []);
    assert.deepEqual(here.beats.filter(({ pos }) => pos < 60_000), []);
    const { pos, session: now, watched: more } = last(here.beats);
    assert.deepEqual([pos, now, more - watched, last(here.beats).dur], [61_500, session, 1_000, duration * 1000]);
  }
});

test('the same file once more: what is watched of it is reported, and not what is only on the way', () => {
  const here = watching();
  const made = here.beats.length;
  here.media.load();
  here.media.loaded();
  here.media.say('playing');
  here.media.advance(4);
  here.media.pause();
  assert.equal(here.beats.length, made);
  here.media.play();
  here.media.advance(2);
  here.media.pause();
  assert.equal(last(here.beats).pos, 6_000);
});

test('a viewer who seeks in it is followed at once', () => {
  const here = watching();
  here.media.load();
  here.media.loaded();
  here.media.seek(200);
  assert.deepEqual([last(here.beats).state, last(here.beats).pos], ['seeked', 200_000]);
});

test('another content ends it, and says so', async () => {
  const acts = [({ media }) => media.advance(6), ({ media }) => media.seek(300)];
  for (const [act, duration] of acts.flatMap((each) => [[each, 600], [each, 1_200]])) {
    const here = watching();
    const made = here.beats.length;
    here.media.load('next.mp4');
    here.media.loaded(duration);
    here.media.say('playing');
    act(here);
    assert.deepEqual(here.unbound, [{ content: CONTENT, reason: 'media' }]);
    assert.equal(await here.playback.stopped, 'media');
    assert.deepEqual(here.beats.slice(made).map(({ state, pos }) => [state, pos]), [['paused', 61_000]]);
    playOn(here, 9);
    assert.equal(here.beats.length, made + 1);
  }
});

test('near the beginning, where everything begins, the length tells', async () => {
  for (const [duration, reason] of [[600, null], [1_200, 'media']]) {
    const here = watching();
    here.media.seek(3);
    here.media.load('next.mp4');
    here.media.loaded(duration);
    here.media.advance(6);
    assert.deepEqual(here.unbound.map((told) => told.reason), reason ? [reason] : []);
  }
});

test('a source that names nothing is known by its length', () => {
  for (const [duration, wanted] of [[600, 0], [1_200, 1]]) {
    const here = watching({ src: null });
    here.media.load();
    here.media.loaded(duration);
    here.media.advance(6);
    assert.equal(here.unbound.length, wanted);
  }
});

test('another length of the same media is followed', () => {
  const here = watching({ duration: NaN });
  assert.equal(last(here.beats).dur, undefined);
  here.media.loaded(700);
  playOn(here);
  assert.equal(last(here.beats).dur, 700_000);
});

test('an element that is taken away and given back is followed', () => {
  const here = watching();
  here.media.pause();
  here.media.load('');
  here.media.say('timeupdate', 'pause');
  here.client.flush();
  here.media.load('one.mp4');
  here.media.loaded();
  here.media.seek(61);
  here.media.play();
  playOn(here);
  assert.deepEqual([last(here.beats).pos, here.unbound], [62_000, []]);
});

test('an element that is taken away for good ends it', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const here = watching();
  here.media.load('');
  t.mock.timers.tick(299_000);
  assert.deepEqual(here.unbound, []);
  t.mock.timers.tick(2_000);
  assert.deepEqual(here.unbound.map(({ reason }) => reason), ['gone']);
});

test('what begins after the end of the content is another, or a new session', () => {
  for (const [src, wanted] of [['next.mp4', 1], ['one.mp4', 0]]) {
    const here = watching();
    const { session } = last(here.beats);
    here.media.advance(539);
    here.media.ended = true;
    here.media.say('ended');
    here.media.ended = false;
    here.media.load(src);
    here.media.loaded();
    for (let second = 0; second < 8; second++) here.media.advance(1);
    here.media.pause();
    assert.equal(here.unbound.length, wanted);
    assert.equal(last(here.beats).session !== session, !wanted);
  }
});

test('an advertisement between suspend and continue is not reported, in another file or in the same', () => {
  for (const other of [true, false]) {
    const here = watching();
    here.media.advance(1);
    here.playback.suspend();
    here.playback.suspend();
    assert.deepEqual([last(here.beats).state, last(here.beats).pos], ['paused', 62_000]);
    const made = here.beats.length;
    if (other) here.media.load('ad.mp4');
    if (other) here.media.loaded(15);
    else here.media.seek(300);
    here.media.play();
    playOn(here, 15);
    here.media.say('ended');
    if (other) here.media.load('one.mp4');
    here.playback.continue();
    if (other) here.media.loaded();
    here.media.say('timeupdate', 'playing');
    assert.equal(here.beats.length, made);
    here.media.seek(62);
    here.media.say('playing');
    playOn(here);
    here.playback.continue();
    assert.deepEqual(here.beats.slice(made).map(({ pos }) => pos > 61_000 && pos < 65_000).includes(false), false);
    assert.equal(last(here.beats).pos, 63_000);
    assert.deepEqual(here.unbound, []);
  }
});

test('the element is emptied before suspend is called: the place is kept', () => {
  const here = watching();
  here.media.load('ad.mp4');
  here.playback.suspend();
  assert.deepEqual([last(here.beats).state, last(here.beats).pos], ['paused', 61_000]);
});

test('every other end is told, too', async () => {
  const [one, two, three] = [watching(), watching(), watching()];
  one.playback.stop();
  two.client.play(two.media, CONTENT);
  three.client.close();
  const reasons = await Promise.all([one, two, three].map(({ playback }) => playback.stopped));
  assert.deepEqual(reasons, ['stopped', 'replaced', 'closed']);
  assert.deepEqual([one, two, three].map(({ unbound }) => unbound[0].reason), reasons);
});
