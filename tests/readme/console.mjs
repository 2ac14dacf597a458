// node console.mjs URL SCRIPT TOKEN [GATEWAY]: runs the script in the console of the demo page, answers its prompt with
// the token, and prints the first line that it logs.
//
// GATEWAY says what the page's sockets meet while the script runs: `served` (the default) is the gateway itself,
// `refused` a closed port, `silent` a port that accepts and never answers. In the last two cases the script must come to
// its end, with the video playing, in a few times what the page has taken to load; then the gateway is back, and the
// positions must arrive.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { launch } from '../browser/browser.mjs';

const AWAY_RATIO_MAX = 10;
/** A page that loads faster is noise. A script that waits for the gateway takes 15 s at least. */
const LOAD_MS_MIN = 500;
/** A connection attempt that gets no answer takes 15 s, and the next one may wait as long for its turn. */
const BACK_MS_MAX = 120_000;

const [url, script, token, gateway = 'served'] = process.argv.slice(2);
// A console waits for what is awaited at its top level; a script does not.
const code = `(async () => { ${readFileSync(script, 'utf8')} })()`;

const dead = createServer(() => {});
await new Promise((resolve) => dead.listen(0, '127.0.0.1', resolve));
const { port } = dead.address();
if (gateway === 'refused') dead.close();

const browser = await launch();
try {
  // The page may connect to its own server only; a dead one has another port.
  const page = await browser.newPage({ bypassCSP: true });
  page.on('dialog', (dialog) => dialog.accept(token));
  if (gateway !== 'served') await page.addInitScript(leadAway, port);
  const goes = Date.now();
  await page.goto(url, { timeout: BACK_MS_MAX });
  const awayMsMax = AWAY_RATIO_MAX * Math.max(LOAD_MS_MIN, Date.now() - goes);
  const logged = page.waitForEvent('console', {
    predicate: (message) => message.text().startsWith('on disk'),
    timeout: BACK_MS_MAX,
  });
  logged.catch(() => {});
  const began = Date.now();
  await page.evaluate(code);
  if (gateway !== 'served') {
    const took = Date.now() - began;
    if (took > awayMsMax) throw new Error(`the script took ${took} ms while the gateway was away, not ${awayMsMax}`);
    await page.waitForFunction(() => isPlaying(document.querySelector('video')), null, { timeout: awayMsMax });
    console.log('plays while the gateway is away');
    await page.evaluate(() => { globalThis.away = false; });
  }
  console.log((await logged).text());
} finally {
  await browser.close();
  dead.close();
}

/** Runs in the page: sockets go to `port` as long as `away` is set. */
function leadAway(port) {
  const Socket = globalThis.WebSocket;
  globalThis.away = true;
  globalThis.isPlaying = (video) => video !== null && !video.paused && video.currentTime > 0.5;
  globalThis.WebSocket = class extends Socket {
    constructor(address, ...rest) {
      const to = new URL(address);
      if (globalThis.away) to.port = port;
      super(to, ...rest);
    }
  };
}
