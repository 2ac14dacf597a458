// node old_engine.mjs: takes away what engines of 2020 lack (Chromium 79, Safari 13.1, Hermes), then resumes and plays one
// content on a socket made here, as an app without a page would; prints what it sent and heard.
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

const { Heartline } = await import('../../web-demo/client/heartline.js');

const sent = [];

class Socket {
  constructor() {
    setTimeout(() => this.answer({
      welcome: { mid: '1', connection: 'c', now: 1_000_000, interval: 5_000, recording: { paused: false }, limits: {} },
    }));
  }

  send(text) {
    const frame = JSON.parse(text);
    sent.push(frame);
    const record = { kind: 1, oid: '100', pos: 30_000, resume: 30_000, state: 'paused', session: '7', watched: 1, at: 1 };
    const answer = frame.beats ? { ack: { seq: frame.seq } } : { result: { seq: frame.seq, records: frame.get && [record] } };
    setTimeout(() => this.answer(answer));
  }

  answer(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }

  close() {}
}

// A native player: no element, and no EventTarget.
const listeners = {};
const player = {
  currentTime: 0,
  duration: 60,
  paused: true,
  addEventListener: (type, act) => { (listeners[type] ??= []).push(act); },
  removeEventListener: (type, act) => { listeners[type] = listeners[type].filter((each) => each !== act); },
};
const say = (type) => (listeners[type] || []).forEach((act) => act({ type }));

const heard = [];
const client = new Heartline({ user: '1', getToken: async () => 'token', url: 'https://site.test/a', WebSocket: Socket });
for (const type of ['welcome', 'beat', 'fault']) client.addEventListener(type, () => heard.push(type));
client.addEventListener('acked', () => heard.push('acked'), { once: true });
client.connect();
const playback = client.resume(player, { kind: 1, oid: '0100' });
await playback.place;
const from = player.currentTime;
player.paused = false;
say('play');
say('playing');
player.currentTime += 1;
say('timeupdate');
player.paused = true;
say('pause');
while (client.unanswered > 0) await new Promise((resolve) => setTimeout(resolve, 5));
playback.stop();
client.close();
const beats = sent.filter((frame) => frame.beats).flatMap((frame) => frame.beats.items);
const left = Object.values(listeners).flat().length;
console.log(JSON.stringify({ from, heard, left, beats: beats.map(({ oid, pos, state }) => [oid, pos, state]) }));
