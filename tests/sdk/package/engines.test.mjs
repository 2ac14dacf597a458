// What is packed runs in engines of 2020 as it is: their syntax, and nothing that they do not have.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'acorn';

const DIST = 'node_modules/@heartline/client/dist';
const LATER = 3;
const PLAYED = { heard: ['welcome', 'beat', 'beat', 'acked'], beats: [['100', 31_000, 'playing'], ['100', 31_000, 'paused']] };

test('all that is packed is ES2019, but for import()', async () => {
  const files = (await readdir('node_modules/@heartline/client', { recursive: true })).filter((name) => name.endsWith('.js'));
  assert.ok(files.length >= 8 && files.every((name) => name.startsWith('dist/')), String(files));
  let imports = 0;
  for (const name of files) {
    const text = await readFile(`node_modules/@heartline/client/${name}`, 'utf8');
    // Chromium has it since 63, Safari since 11.1. Acorn takes it for ES2020.
    const known = text.replace(/\bimport\(/g, () => { imports += 1; return 'later('; });
    parse(known, { ecmaVersion: 2019, sourceType: 'module' });
    // Safari has it since 16.4, though it is ES2018.
    assert.doesNotMatch(text, /\(\?<[=!]/, `${name} looks behind`);
  }
  assert.equal(imports, LATER);
});

test('what a later syntax looks like is found', () => {
  for (const text of ['a?.b', 'a ?? b', 'a ||= b', 'class A { #a; }', 'class A { a = 1; }', '1n', 'import.meta']) {
    assert.throws(() => parse(text, { ecmaVersion: 2019, sourceType: 'module' }), SyntaxError, text);
  }
});

test('it runs in an engine of 2020 without a page, and follows a player of each kind', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['old_app.mjs'], { timeout: 60_000 });
  const seen = JSON.parse(stdout);
  assert.deepEqual(Object.keys(seen), ['element', 'videojs', 'vidstack', 'expoVideo', 'reactNativeVideo', 'react']);
  for (const [name, { from, left, ...played }] of Object.entries(seen)) {
    assert.equal(from, 30, name);
    assert.deepEqual(played, PLAYED, name);
    // The adapters of React Native listen as long as their player lives.
    if (!name.match(/expo|native/i)) assert.equal(left, 0, name);
  }
});

test('a debugger shows the sources', async () => {
  const { sources, sourcesContent } = JSON.parse(await readFile(`${DIST}/heartline.js.map`, 'utf8'));
  assert.ok(sources.some((name) => name.endsWith('heartline/playback.js')), String(sources));
  assert.ok(sourcesContent.some((text) => text.includes('#playbacks')));
});
