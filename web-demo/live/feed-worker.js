/**
 * One stream for all pages of this browser: a browser opens only six connections to a server, and a wall of parts may
 * need more.
 *
 * In:  join, leave, again     of one page
 * Out: { state, live }        see feed.js; the last one, to a page that joins
 */

import { follow } from './feed.js';

const pages = new Set();
let last = { state: 'connecting' };

const feed = follow(news => {
  last = { ...last, ...news };
  for (const page of pages) page.postMessage(news);
});

self.onconnect = ({ ports: [page] }) => {
  const orders = {
    join() {
      pages.add(page);
      page.postMessage(last);
    },
    leave: () => pages.delete(page),
    again: () => feed.again(),
  };
  page.onmessage = ({ data }) => orders[data]();
};
