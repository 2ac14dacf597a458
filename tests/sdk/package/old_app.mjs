// node old_app.mjs: an app without a page, in an engine of 2020. It resumes and plays one content in a player of each kind, on
// a socket made here, and prints for each player from where it went on, what was left of its listeners, and what was sent.
import './old_engine.mjs';
import { Player, PLAYERS } from './old_players.mjs';

const { Heartline } = await import('@heartline/client');

// A gateway at the other end of each socket: what the client sends to it, and its answers.
class Socket {
  static sent = [];

  constructor() {
    setTimeout(() => this.answer({
      welcome: { mid: '1', connection: 'c', now: 1_000_000, interval: 5_000, recording: { paused: false }, limits: {} },
    }));
  }

  send(text) {
    const frame = JSON.parse(text);
    if (frame.beats) Socket.sent.push(...frame.beats.items);
    const record = { kind: 1, oid: '100', pos: 30_000, resume: 30_000, state: 'paused', session: '7', watched: 1, at: 1 };
    const answer = frame.beats ? { ack: { seq: frame.seq } } : { result: { seq: frame.seq, records: frame.get && [record] } };
    setTimeout(() => this.answer(answer));
  }

  answer(frame) {
    this.onmessage({ data: JSON.stringify(frame) });
  }

  close() {}
}

async function watched(open) {
  Socket.sent = [];
  const heard = [];
  const client = new Heartline({ user: '1', getToken: async () => 'token', url: 'https://site.test/a', WebSocket: Socket });
  for (const type of ['welcome', 'beat', 'fault']) client.addEventListener(type, () => heard.push(type));
  client.addEventListener('acked', () => heard.push('acked'), { once: true });
  client.connect();
  const player = new Player();
  const playback = await open(client, player, { kind: 1, oid: '0100' });
  player.load();
  await playback.place;
  const from = player.position;
  player.play();
  player.advance(1);
  player.pause();
  while (client.unanswered > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  playback.stop();
  client.close();
  return { from, heard, left: player.left, beats: Socket.sent.map(({ oid, pos, state }) => [oid, pos, state]) };
}

const seen = {};
for (const [name, open] of Object.entries(PLAYERS)) seen[name] = await watched(open);
console.log(JSON.stringify(seen));
