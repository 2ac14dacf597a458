// Takes away what engines of 2020 lack: Chromium 79, Safari 13.1, Hermes. To be imported first.
const MISSING = [
  'EventTarget', 'Event', 'CustomEvent', 'MessageEvent', 'BroadcastChannel', 'BigInt', 'BigInt64Array', 'BigUint64Array',
  'TextEncoder', 'TextDecoder', 'URL', 'structuredClone', 'AggregateError', 'WeakRef', 'FinalizationRegistry', 'crypto',
  'fetch', 'WebSocket', 'localStorage', 'navigator', 'reportError',
];
for (const name of MISSING) delete globalThis[name];
delete AbortSignal.timeout;
delete AbortSignal.any;
delete Object.hasOwn;
delete Object.groupBy;
delete Promise.any;
delete Promise.withResolvers;
for (const name of ['at', 'findLast', 'findLastIndex', 'toSorted', 'toReversed', 'toSpliced', 'with']) {
  delete Array.prototype[name];
  delete Uint32Array.prototype[name];
}
for (const name of ['at', 'replaceAll', 'isWellFormed']) delete String.prototype[name];
