// What the SDK needs of an engine, and what it does with listeners itself, since not every engine has an EventTarget.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { test } from 'node:test';
import { isId } from '../../web-demo/client/heartline/arguments.js';
import { Emitter } from '../../web-demo/client/heartline/emitter.js';
import { newSession } from '../../web-demo/client/heartline/reporter.js';
import { bytesOf, cut } from '../../web-demo/client/heartline/text.js';
import { PATIENCE_MS } from './stage.mjs';

test('it runs in an engine of 2020 without a page, and follows a native player', async () => {
  const script = fileURLToPath(new URL('old_engine.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...process.execArgv, script], { timeout: PATIENCE_MS });
  assert.deepEqual(JSON.parse(stdout), {
    from: 30,
    heard: ['welcome', 'beat', 'beat', 'acked'],
    left: 0,
    beats: [['100', 31_000, 'playing'], ['100', 31_000, 'paused']],
  });
});

test('text is measured in bytes of UTF-8, and cut at a letter', () => {
  for (const text of ['', 'tv', 'ü', '€uro', 'a📺b', '\ud800', 'Ωmega'.repeat(50)]) {
    assert.equal(bytesOf(text), new TextEncoder().encode(text).length, JSON.stringify(text));
    for (let most = 0; most <= 8; most++) {
      const kept = cut(text, most);
      assert.ok(text.startsWith(kept) && bytesOf(kept) <= most);
      const next = [...text][[...kept].length];
      assert.ok(next === undefined || bytesOf(kept + next) > most);
    }
  }
});

test('sessions are ids, and differ', () => {
  const made = Array.from({ length: 1_000 }, newSession);
  assert.ok(made.every(isId));
  assert.equal(new Set(made).size, 1_000);
});

test('listeners are called as those of an EventTarget', () => {
  const heard = [];
  const emitter = new Emitter();
  const told = (name) => (event) => {
    heard.push(name);
    if (name === 'prevents') event.preventDefault();
  };
  const [twice, removed] = [told('twice'), told('removed')];
  const control = new AbortController();
  emitter.addEventListener('x', twice);
  emitter.addEventListener('x', twice);
  emitter.addEventListener('x', told('once'), { once: true });
  emitter.addEventListener('x', { handleEvent: told('object') });
  emitter.addEventListener('x', () => emitter.removeEventListener('x', removed));
  emitter.addEventListener('x', removed);
  emitter.addEventListener('x', told('aborted'), { signal: control.signal });
  emitter.addEventListener('x', null);
  assert.equal(emitter.emit('x', 5), true);
  assert.deepEqual(heard.splice(0), ['twice', 'once', 'object', 'aborted']);
  control.abort();
  emitter.addEventListener('x', told('never'), { signal: control.signal });
  emitter.addEventListener('x', told('prevents'));
  emitter.addEventListener('x', ({ type, detail, target, defaultPrevented }) => heard.push([type, detail, target, defaultPrevented]));
  assert.equal(emitter.emit('x', 6), false);
  assert.deepEqual(heard, ['twice', 'object', 'prevents', ['x', 6, emitter, true]]);
  assert.equal(emitter.emit('y'), true);
});
