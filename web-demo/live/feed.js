/**
 * The gateway's live numbers, as it sends them: one event a second. When the stream breaks off, the browser asks again
 * by itself, unless the gateway has refused.
 */

const STREAM = '/demo/live/stream';

/**
 * @param {(news: { state: 'live' | 'away' | 'refused', live?: object }) => void} tell
 * @returns {{ again: () => void }} asks once more after a refusal
 */
export function follow(tell) {
  let source;
  const open = () => {
    source = new EventSource(STREAM);
    source.addEventListener('live', ({ data }) => tell({ state: 'live', live: JSON.parse(data) }));
    source.addEventListener('error', () => {
      tell({ state: source.readyState === EventSource.CLOSED ? 'refused' : 'away' });
    });
  };
  open();
  return {
    again() {
      if (source.readyState === EventSource.CLOSED) open();
    },
  };
}
