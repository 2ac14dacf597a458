/**
 * One stream of Server-Sent Events from the demo's own routes. When it breaks off, the browser asks again by itself,
 * unless the gateway has refused.
 */

/**
 * @param {string} path
 * @param {string} name  of its events
 * @param {(news: { state: 'open' | 'away' | 'refused', event?: object }) => void} tell  `event`: what has come
 * @returns {{ again: () => void, close: () => void }} `again` asks once more after a refusal
 */
export function followEvents(path, name, tell) {
  let source;
  const open = () => {
    source = new EventSource(path);
    source.addEventListener('open', () => tell({ state: 'open' }));
    source.addEventListener(name, ({ data }) => tell({ state: 'open', event: JSON.parse(data) }));
    source.addEventListener('error', () => {
      tell({ state: source.readyState === EventSource.CLOSED ? 'refused' : 'away' });
    });
  };
  open();
  return {
    again() {
      if (source.readyState === EventSource.CLOSED) open();
    },
    close: () => source.close(),
  };
}
