// Headless Chromium that may connect to the gateway only.
import { createRequire } from 'node:module';
import { join } from 'node:path';

// playwright-core is installed outside the tree; it brings no browser of its own.
const { chromium } = createRequire(join(process.env.NODE_TOOLS, 'from.js'))('playwright-core');

export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM,
    headless: true,
    args: [
      '--no-sandbox', // the tests may run as root
      '--autoplay-policy=no-user-gesture-required',
      '--disable-dev-shm-usage',
      '--mute-audio',
      '--disable-auto-reload', // of an error page, once the server is back
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-domain-reliability',
      '--disable-sync',
      '--no-first-run',
    ],
  });
}

// A toast stays for ten seconds, and on a busy machine a few looks take as long. Until the session is detached it stays
// twenty times as long.
export async function slowAnimations(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Animation.enable');
  await session.send('Animation.setPlaybackRate', { playbackRate: 0.05 });
  return session;
}
