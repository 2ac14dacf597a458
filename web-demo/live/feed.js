/** The gateway's live numbers, as it sends them: one event a second. */

import { followEvents } from '../event-stream.js';

const STREAM = '/demo/live/stream';

/**
 * @param {(news: { state: 'live' | 'away' | 'refused', live?: object }) => void} tell
 * @returns {{ again: () => void }} asks once more after a refusal
 */
export function follow(tell) {
  return followEvents(STREAM, 'live', ({ state, event }) => {
    if (event) tell({ state: 'live', live: event });
    else if (state !== 'open') tell({ state });
  });
}
