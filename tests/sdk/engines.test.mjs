// What the SDK has of its own, since not every engine has it: text as bytes, random ids, an EventTarget. That it runs in such
// an engine is tested as it is packed (package/engines.test.mjs).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isId } from '../../web-demo/client/heartline/arguments.js';
import { Emitter } from '../../web-demo/client/heartline/emitter.js';
import { newSession } from '../../web-demo/client/heartline/reporter.js';
import { bytesOf, cut } from '../../web-demo/client/heartline/text.js';

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
