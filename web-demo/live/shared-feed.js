/** The feed that all pages of this browser share, or one of this page where the browser has no shared workers. */

import { follow } from './feed.js';

/** Like `follow` of feed.js. */
export function followShared(tell) {
  if (!('SharedWorker' in globalThis)) return follow(tell);
  const { port } = new SharedWorker('/demo/live/feed-worker.js', { type: 'module' });
  port.onmessage = ({ data }) => tell(data);
  port.postMessage('join');
  addEventListener('pagehide', () => port.postMessage('leave'));
  // The page was kept by the browser, and is back.
  addEventListener('pageshow', ({ persisted }) => persisted && port.postMessage('join'));
  return { again: () => port.postMessage('again') };
}
