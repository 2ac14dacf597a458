/**
 * Heartline in React: a client for a tree of components, positions of what they play, and what the user can continue.
 *
 *   <HeartlineProvider client={client}>…</HeartlineProvider>
 *   const { offer, accept, dismiss } = useResume(videoRef, { kind: 1, oid: '100' });
 *   const { records, error, reload } = useContinueWatching({ limit: 20 });
 */

import { createContext, createElement, useCallback, useContext, useEffect, useRef, useState } from 'react';

/**
 * @typedef {import('./heartline.js').Heartline} Heartline
 * @typedef {import('./heartline.js').Content} Content
 * @typedef {import('./heartline.js').Playback} Playback
 * @typedef {import('./heartline.js').StoredRecord} StoredRecord
 * @typedef {import('./heartline/source.js').ProgressSource} ProgressSource
 */

const Client = createContext(/** @type {Heartline | null} */ (null));

/**
 * Connects a client for as long as it is there. The application makes it, once for each user, and closes it. Null: no user
 * yet, or a page rendered on a server; then the hooks do nothing.
 * @param {{ client: Heartline | null, children?: import('react').ReactNode }} props
 */
export function HeartlineProvider({ client, children }) {
  useEffect(() => {
    if (!client) return undefined;
    client.connect();
    return () => {
      client.flush();
      client.disconnect();
    };
  }, [client]);
  return createElement(Client.Provider, { value: client }, children);
}

/** The client of the provider above. */
export function useHeartline() {
  return useContext(Client);
}

/**
 * Resumes a content in a media element, or in what behaves like one. `offer`: where the viewer was, if they have moved
 * meanwhile; `accept` goes there, `dismiss` stays.
 * @param {ProgressSource | null | { current: ProgressSource | null }} media  or a ref to it
 * @param {Content | null} content  null: nothing is played
 */
export function useResume(media, content) {
  const client = useHeartline();
  const [playback, setPlayback] = useState(/** @type {Playback | null} */ (null));
  const [offer, setOffer] = useState(/** @type {StoredRecord | null} */ (null));
  const followed = useRef(/** @type {ProgressSource | null} */ (null));
  const { kind, oid } = content || { kind: 0, oid: null };
  useEffect(() => {
    const source = media && 'current' in media ? media.current : media;
    if (!client || !source || oid === null) return undefined;
    const begun = client.resume(source, { kind, oid }, { onOffer: setOffer });
    followed.current = source;
    setPlayback(begun);
    return () => {
      begun.stop();
      setPlayback(null);
      setOffer(null);
    };
  }, [client, media, kind, oid === null ? null : String(oid)]);
  const dismiss = useCallback(() => setOffer(null), []);
  const accept = useCallback(() => {
    if (offer && followed.current) followed.current.currentTime = offer.resume / 1000;
    setOffer(null);
  }, [offer]);
  return { playback, offer, accept, dismiss };
}

/**
 * What the user can continue, newest first. It follows the user's other devices.
 * @param {{ limit?: number, kinds?: number | number[] }} [options]
 */
export function useContinueWatching({ limit = 20, kinds } = {}) {
  const client = useHeartline();
  const [records, setRecords] = useState(/** @type {StoredRecord[] | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const newest = useRef(0);
  const wanted = JSON.stringify(kinds);
  const reload = useCallback(async () => {
    if (!client) return;
    const asked = ++newest.current;
    try {
      const found = await unfinished(client, limit, wanted && JSON.parse(wanted));
      if (asked !== newest.current) return;
      setRecords(found);
      setError(null);
    } catch (failure) {
      if (asked === newest.current) setError(/** @type {Error} */ (failure));
    }
  }, [client, limit, wanted]);
  useEffect(() => {
    if (!client) return undefined;
    const types = /** @type {const} */ (['welcome', 'record', 'deleted', 'cleared']);
    for (const type of types) client.addEventListener(type, reload);
    if (client.state !== 'offline') reload();  // otherwise the welcome will
    return () => {
      newest.current++;
      for (const type of types) client.removeEventListener(type, reload);
    };
  }, [client, reload]);
  return { records, error, reload };
}

/**
 * A page may be short, or empty, before the end.
 * @param {Heartline} client
 * @param {number} limit
 * @param {number | number[]} [kinds]
 */
async function unfinished(client, limit, kinds) {
  /** @type {StoredRecord[]} */
  const found = [];
  /** @type {string | undefined} */
  let cursor;
  do {
    const page = await client.list({ finished: false, limit: limit - found.length, cursor, kinds });
    found.push(...page.records);
    cursor = page.cursor;
  } while (cursor && found.length < limit);
  return found;
}
