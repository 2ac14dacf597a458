// Two devices of one user: `elsewhere` is told once when the other one takes over, and from then on this one says nothing
// until its viewer acts.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Media } from './media.mjs';
import { Stage, until, untilPast } from './stage.mjs';

const CONTENT = { kind: 1, oid: '100' };
const stage = new Stage();
before(() => stage.start());
after(() => stage.stop());

// A device with a media element that is bound to the content.
async function device(user, content = CONTENT) {
  const client = await stage.online(user);
  const media = new Media();
  client.play(media, content);
  return { client, media };
}

// It plays, and its first beat is there.
function plays({ media }) {
  media.play();
  media.advance(0.5);
}

async function settled({ client }) {
  await until('the acks', () => client.unanswered === 0);
}

// Until the record that another device has stored is here.
async function told({ client }, { client: other }) {
  const { at } = other.seen.beat.at(-1).beat;
  await until('the push', () => client.seen.record.some(({ record }) => record.at === at));
}

// Until what the first device makes is newer than anything of the second.
async function newer({ client }, { client: other }) {
  await untilPast(client, other.seen.beat.at(-1).beat.at);
}

// It plays on, and jumps: each change is pushed at once.
async function goOn(there, here) {
  for (let second = 10; second < 14; second++) {
    there.media.advance(1);
    for (const change of [() => there.media.seek(second), () => there.media.play()]) {
      change();
      await told(here, there);
    }
  }
}

const elsewhere = ({ client }) => client.seen.elsewhere.length;

test('another device takes over: told once, and again after the user came back here', async () => {
  const here = await device('1');
  const there = await device('1');
  plays(here);
  await settled(here);
  for (const times of [1, 2]) {
    await newer(there, here);
    plays(there);
    await told(here, there);
    assert.equal(elsewhere(here), times);
    const { beat, record } = here.client.seen.elsewhere.at(-1);
    assert.equal(beat, here.client.seen.beat.at(-1).beat);
    assert.equal(record.session, there.client.seen.beat.at(-1).beat.session);
    await goOn(there, here);
    assert.equal(elsewhere(here), times);
    there.media.pause();
    await told(here, there);
    await newer(here, there);
    here.media.advance(1);
    here.media.pause();
    plays(here);
    await settled(here);
  }
});

test('nothing is told where nothing plays, of a pause, of another content, or of a session made here', async () => {
  const here = await device('2');
  const there = await device('2');
  plays(there);
  await told(here, there);
  await newer(here, there);
  plays(here);
  await settled(here);
  await newer(there, here);
  there.media.advance(2);
  there.media.pause();
  await told(here, there);
  const other = await device('2', { kind: 1, oid: '200' });
  plays(other);
  await told(here, other);
  here.media.advance(2);
  here.media.pause();
  await settled(here);
  await newer(there, here);
  plays(there);
  await told(here, there);
  assert.equal(elsewhere(here), 0);
  const mine = new Media();
  await newer(here, there);
  here.client.play(mine, CONTENT);
  plays({ media: mine });
  await settled(here);
  assert.equal(elsewhere(here), 0);
});

test('a beat that another device superseded tells it, too, and only once', async () => {
  const here = await device('3');
  plays(here);
  await settled(here);
  here.client.disconnect();
  here.media.advance(2);
  here.media.pause();
  plays(here);
  const there = await device('3');
  await newer(there, here);
  plays(there);
  await settled(there);
  here.client.connect();
  await until('the answers', () => here.client.state === 'online' && here.client.unanswered === 0);
  assert.ok(here.client.seen.rejected.every(({ reason }) => reason === 'superseded'));
  assert.equal(elsewhere(here), 1);
  await goOn(there, here);
  assert.equal(elsewhere(here), 1);
});

async function position(user) {
  return (await stage.stored(user, '100'))[0].pos;
}

test('after it a device says nothing, whatever its handler does, until the viewer acts', async () => {
  const here = await device('4');
  const there = await device('4');
  here.client.addEventListener('elsewhere', ({ detail: { record } }) => {
    here.media.seek(record.pos / 1000);
    here.media.pause();
  });
  plays(here);
  here.media.seek(10);
  await settled(here);
  for (const act of [() => plays(here), () => here.media.seek(77)]) {
    await newer(there, here);
    there.media.seek(300);
    plays(there);
    await told(here, there);
    await until('elsewhere', () => here.media.paused);
    const [made, { pos }] = [here.client.seen.beat.length, there.client.seen.beat.at(-1).beat];
    await newer(here, there);
    here.media.advance(0.5);
    here.media.say('timeupdate', 'pause');
    here.client.flush();
    assert.equal(here.client.seen.beat.length, made);
    assert.equal(await position('4'), pos);
    act();
    await until('a beat', () => here.client.seen.beat.length > made);
    await settled(here);
    assert.equal(await position('4'), here.client.seen.beat.at(-1).beat.pos);
    await told(there, here);
  }
});

test('the end of a playback that was taken over says nothing, also where it stood still', async () => {
  for (const [user, pauses] of [['5', true], ['6', false]]) {
    const here = await device(user);
    const there = await device(user);
    plays(here);
    if (pauses) here.media.pause();
    await settled(here);
    await newer(there, here);
    there.media.seek(300);
    plays(there);
    await told(here, there);
    await newer(here, there);
    here.media.advance(1);
    here.media.say('pause');
    here.client.close();
    assert.equal(await position(user), 300_500);
  }
});

test('a beat that was superseded ends it, too', async () => {
  const here = await device('7');
  plays(here);
  await settled(here);
  here.client.disconnect();
  here.media.advance(2);
  here.media.pause();
  const there = await device('7');
  await newer(there, here);
  there.media.seek(300);
  plays(there);
  await settled(there);
  here.client.connect();
  await until('elsewhere', () => elsewhere(here) === 1);
  const made = here.client.seen.beat.length;
  here.media.advance(9);
  here.media.say('pause');
  assert.equal(here.client.seen.beat.length, made);
});

test('what another device pauses or marks takes nothing over from what plays here', async () => {
  const here = await device('8');
  const there = await device('8');
  plays(there);
  await told(here, there);
  await newer(here, there);
  plays(here);
  await settled(here);
  await newer(there, here);
  there.client.markWatched(CONTENT, 600_000);
  await told(here, there);
  await newer(here, there);
  here.media.advance(9);
  here.media.pause();
  await settled(here);
  assert.equal(await position('8'), 9_500);
});
