// hls.js in Chromium: a stream through MediaSource, the client as it is packed, and a real gateway. CLIENT_PACKAGE is the
// folder where tests/sdk/package/check.sh has unpacked the client beside hls.js.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { launch } from '../browser/browser.mjs';
import { PATIENCE_MS, Stage, token, until } from './stage.mjs';

const MODULES = join(process.env.CLIENT_PACKAGE, 'node_modules');
const FILM = fileURLToPath(new URL('../../web-demo/dawn.webm', import.meta.url));
const CONTENT = { kind: 1, oid: '100' };
const USER = '1';
const TYPES = { '.js': 'text/javascript', '.mjs': 'text/javascript', '.m3u8': 'application/vnd.apple.mpegurl' };
const PAGE = `<!doctype html>
<link rel="icon" href="data:,">
<video muted></video>
<script type="module">
  import { Heartline } from '/client/heartline.js';
  import Hls from '/hls/hls.mjs';
  window.watch = (url, token, content) => {
    const video = document.querySelector('video');
    const hls = new Hls({ enableWorker: false });
    hls.loadSource('/stream/film.m3u8');
    hls.attachMedia(video);
    const client = new Heartline({ user: '${USER}', url, device: 'page', getToken: async () => token });
    client.connect();
    const playback = client.resume(video, content);
    Object.assign(window, { video, hls, client, playback, ended: [] });
    client.addEventListener('unbound', ({ detail }) => window.ended.push(detail.reason));
    return video.play();
  };
</script>`;

const folder = mkdtempSync(join(tmpdir(), 'heartline-hls-'));
const site = createServer(serve);
let stage;
let browser;

before(async () => {
  await promisify(execFile)('ffmpeg', [
    '-v', 'error', '-i', FILM, '-an', '-c', 'copy', '-f', 'hls', '-hls_time', '4', '-hls_playlist_type', 'vod',
    '-hls_segment_type', 'fmp4', join(folder, 'film.m3u8'),
  ]);
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  stage = new Stage({ HEARTLINE__SERVER__ORIGINS: JSON.stringify([origin()]) });
  [browser] = await Promise.all([launch(), stage.start()]);
});

after(async () => {
  await browser?.close();
  await stage?.stop();
  site.close();
  rmSync(folder, { recursive: true });
});

const origin = () => `http://127.0.0.1:${site.address().port}`;

async function serve(request, response) {
  const [, place, name] = new URL(request.url, 'http://site').pathname.split('/');
  const places = { client: `${MODULES}/@heartline/client/dist`, hls: `${MODULES}/hls.js/dist`, stream: folder };
  try {
    const [type, body] = place === ''
      ? ['text/html', PAGE]
      : [TYPES[extname(name)] ?? 'application/octet-stream', await readFile(join(places[place], name))];
    response.writeHead(200, { 'content-type': type }).end(body);
  } catch {
    response.writeHead(404).end();
  }
}

const position = async () => (await stage.stored(USER, CONTENT.oid))[0].pos / 1000;

test('a stream is resumed, and reported on through a new MediaSource', async () => {
  const beat = { ...CONTENT, pos: 12_000, dur: 40_000, state: 'paused', session: '7', watched: 1_000, at: Date.now() - 60_000 };
  await stage.ask(USER, 'POST', '/v1/beats', { items: [beat] });
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const faults = [];
  page.on('pageerror', (error) => faults.push(error.stack));
  await page.goto(origin());
  await page.waitForFunction(() => window.watch);
  await page.evaluate(([...words]) => window.watch(...words), [stage.gateway.url, token(USER), CONTENT]);
  const place = await page.evaluate(async () => (await window.playback.place).pos);
  assert.equal(place, 12_000);
  await page.waitForFunction(() => window.video.currentTime > 13, null, { polling: 50 });
  await until('a position', async () => (await position()) > 12);
  // What an application does after an error of the media: another `src`, which goes on where it was.
  const left = await page.evaluate(() => {
    const { src, currentTime } = window.video;
    window.hls.recoverMediaError();
    return { src, currentTime };
  });
  await page.waitForFunction((at) => window.video.currentTime > at + 1, left.currentTime, { polling: 50 });
  const [src, stands] = await page.evaluate(async () => {
    window.video.pause();
    return [window.video.src, window.video.currentTime];
  });
  assert.ok(src.startsWith('blob:') && src !== left.src, `${src} after ${left.src}`);
  await until('the last position', async () => Math.abs((await position()) - stands) < 0.3);
  const { watched, device } = (await stage.stored(USER, CONTENT.oid))[0];
  assert.equal(device, 'page');
  assert.ok(watched > 1_000 && watched < (stands - 12) * 1_000 + 500, `watched ${watched} ms, to ${stands} s`);
  assert.deepEqual([faults, await page.evaluate(() => window.ended)], [[], []]);
});
