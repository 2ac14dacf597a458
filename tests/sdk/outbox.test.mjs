// The outbox alone: what it keeps, what it stores, and what that is worth when recording was paused.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Outbox } from '../../web-demo/client/heartline/outbox.js';
import { MemoryStorage } from './storage.mjs';

const SESSION_MAX = 24;
const ENTRIES_MAX = 512;

function beat(at, { session = '1', oid = '100', pos = at ?? 0, state = 'playing' } = {}) {
  return { kind: 1, oid, pos, state, session, watched: 1, rate: 1, at };
}

function outbox(storage = new MemoryStorage()) {
  const dropped = [];
  const made = new Outbox({ storage, name: 'test', user: '1', dropped: (gone) => dropped.push(gone) });
  return { outbox: made, storage, dropped, again: () => outbox(storage).outbox };
}

const ats = (box) => box.entries().map((entry) => entry.beat.at);

// Random numbers that a run can be repeated with.
function random(seed) {
  return (below) => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
}

test('several beats of a session are kept, and leave one by one', () => {
  const { outbox: box, again } = outbox();
  for (const at of [10, 20, 30]) box.put(beat(at), at);
  assert.deepEqual([box.size, ats(box)], [3, [10, 20, 30]]);
  box.settle('1/100/1', 20);
  assert.deepEqual(ats(box), [10, 30]);
  assert.deepEqual(ats(again()), [10, 30]);
  box.settle('1/100/1', 30);
  box.settle('1/100/1', 10);
  assert.deepEqual([box.size, again().size], [0, 0]);
});

test('a beat of the same session and at replaces the other; the same beat again stays one', () => {
  const { outbox: box } = outbox();
  const first = box.put(beat(10), 10);
  assert.equal(box.put(first.beat, 99), first);
  const second = box.put(beat(10, { pos: 5 }), 11);
  assert.deepEqual([box.size, box.has(first), box.has(second)], [1, false, true]);
});

test('when there are too many, those closest together are thinned out, and never the newest', () => {
  const { outbox: box, again } = outbox();
  for (let at = 0; at <= 3_600; at += 5) box.put(beat(at), at);
  const kept = ats(box);
  assert.deepEqual([kept.length, kept.at(-1)], [SESSION_MAX, 3_600]);
  const gaps = kept.slice(1).map((at, index) => at - kept[index]);
  assert.ok(Math.max(...gaps) <= (2 * 3_600) / (SESSION_MAX - 2), `gaps: ${gaps}`);
  assert.deepEqual(ats(again()), kept);
});

test('a full outbox thins sessions out before it gives one up', () => {
  const { outbox: box, dropped, again } = outbox();
  for (let session = 1; session <= ENTRIES_MAX; session++) {
    for (const at of [1, 2, 3]) box.put(beat(10 * session + at, { session: String(session) }), session);
    assert.ok(box.size <= ENTRIES_MAX);
  }
  assert.deepEqual(dropped, []);
  assert.equal(new Set(box.entries().map(({ key }) => key)).size, ENTRIES_MAX);
  box.put(beat(99_999, { session: '9999' }), 9_999);
  assert.deepEqual(dropped.map(({ at }) => at), [13], 'the newest of the oldest session');
  assert.equal(again().size, ENTRIES_MAX);
});

test('beats made before the first welcome get rising times, none ahead of the clock', () => {
  const { outbox: box, storage, again } = outbox();
  for (const [index, made] of [5, 5.2, 5.4, 40].entries()) box.put(beat(undefined, { pos: index }), made);
  assert.deepEqual([box.size, ats(box)], [4, []]);
  const clock = { at: (made) => Math.min(1_030, Math.floor(1_000 + made)) };
  const other = outbox(storage).outbox;
  box.stamp(clock);
  assert.deepEqual(ats(box), [1_003, 1_004, 1_005, 1_030]);
  other.stamp({ at: (made) => 5_000 + made });
  assert.deepEqual(ats(other), ats(box), 'a page that adopted them takes over their times');
  assert.deepEqual(ats(again()), ats(box));
});

test('what earlier versions stored is adopted, and what cannot be sent is left out', () => {
  const storage = new MemoryStorage();
  storage.setItem('test/1/1/100/1', JSON.stringify({ beat: beat(10), made: 10 }));
  const list = [{ beat: beat(30, { session: '2' }), made: 30 }, { made: 3 }, null];
  storage.setItem('test/1/1/100/2', JSON.stringify(list));
  storage.setItem('test/1/1/100/3', JSON.stringify({ beat: beat(-1, { session: '3' }), made: 10 }));
  storage.setItem('test/1/1/100/4', 'no JSON');
  const { outbox: box } = outbox(storage);
  assert.deepEqual(ats(box), [10, 30]);
  assert.equal(storage.length, 2);
  box.settle('1/100/1', 10);
  box.settle('1/100/2', 30);
  assert.equal(storage.length, 0);
});

test('two pages with the same beats: what one has answered, the other still sends, and nothing newer is lost', () => {
  const { outbox: box, storage, again } = outbox();
  for (const at of [10, 20]) box.put(beat(at), at);
  const adopter = outbox(storage).outbox;
  box.put(beat(30), 30);
  adopter.settle('1/100/1', 10);
  adopter.settle('1/100/1', 20);
  assert.deepEqual([ats(box), ats(again())], [[10, 20, 30], [30]]);
});

// What a server does with beats: those in a pause are refused, of the others the newest is the record.
function judged(beats, pause) {
  const inPause = ({ at }) => at >= pause.from && at <= pause.to;
  return beats.filter((each) => !inPause(each)).sort((one, other) => one.at - other.at).at(-1) ?? null;
}

test('random beats, answers and pauses: the newest beat outside the pause is lost by no more than a gap', () => {
  for (let seed = 1; seed <= 300; seed++) {
    const below = random(seed);
    const { outbox: box, storage, again } = outbox();
    const made = [];
    const stored = new Map();
    for (let at = 0, steps = below(120); steps > 0; steps--) {
      at += 1 + below(below(4) ? 5_000 : 60_000);
      made.push(box.put(beat(at), at));
      if (below(8) > 0) continue;
      const answered = box.entries()[below(box.size)];
      stored.set(answered.beat.at, answered.beat);
      box.settle(answered.key, answered.beat.at);
    }
    const kept = box.entries().map((entry) => entry.beat);
    const newest = made.at(-1)?.beat;
    assert.ok(kept.length <= SESSION_MAX, `seed ${seed}`);
    assert.ok(!newest || stored.has(newest.at) || kept.at(-1) === newest, `seed ${seed}: the newest is gone`);
    assert.deepEqual(again().entries().map((entry) => entry.beat), kept, `seed ${seed}: stored as kept`);
    const from = below(2_000_000);
    const pause = { from, to: from + below(400_000) };
    const record = judged([...stored.values(), ...kept], pause);
    const wanted = judged(made.map((entry) => entry.beat), pause);
    assertNear(record, wanted, [...stored.values(), ...kept], seed);
    for (const { at } of kept) box.settle('1/100/1', at);
    assert.deepEqual([box.size, storage.length], [0, 0], `seed ${seed}: every answer takes one out`);
  }
});

// What is missing lies within one gap between two beats that were kept.
function assertNear(record, wanted, known, seed) {
  if (record === wanted) return;
  const between = known.filter(({ at }) => at > (record?.at ?? -1) && at < wanted.at);
  assert.deepEqual(between, [], `seed ${seed}: ${record?.at} instead of ${wanted.at}`);
}
