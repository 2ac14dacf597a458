// What a viewer does with the crowd and sees of it. Each step takes what the one before it left.
import assert from 'node:assert/strict';
import { PATIENCE_MS } from './demo_page.mjs';
import { worth } from './worth.mjs';

const CROWD = 150;
const DEVICES = 2;
// Less than a beat of each that is playing.
const MOST = CROWD / 2;

// Beats that the gateway has answered, whatever the answer was.
function beats(metrics) {
  const names = Object.keys(metrics).filter((name) => name.startsWith('heartline_beats_total{'));
  return names.reduce((sum, name) => sum + metrics[name], 0);
}

function covered(metrics) {
  return metrics['heartline_beats_total{outcome="covered"}'] ?? 0;
}

// Asks for the metrics until they are as wanted.
async function untilMetrics(gateway, what, holds) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const metrics = await gateway.metrics();
    if (holds(metrics)) return metrics;
    assert.ok(performance.now() < deadline, `never came: ${what}; ${JSON.stringify(metrics)}`);
  }
}

function untilConnections(gateway, count) {
  return untilMetrics(gateway, `${count} connections`, (metrics) => metrics.heartline_connections === count);
}

// Waits for a moment when all that was sent is committed, and most of the crowd still waits for an ack.
async function untilCommittedUnacked(crowd, gateway, memory) {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const sent = await crowd.count('bots-sent');
    const committed = beats(await gateway.metrics()) - beats(memory.before);
    const acked = await crowd.count('bots-acked');
    if (committed >= sent && acked <= sent - MOST) return;
    assert.ok(performance.now() < deadline, `never committed and not acked: ${sent} sent, ${committed} committed, ${acked} acked`);
  }
}

async function readBackWhole(crowd, bots) {
  const found = await crowd.readBack();
  assert.ok(found.asked >= bots, JSON.stringify(found));
  assert.deepEqual(found, { asked: found.asked, kept: found.asked, bots, silent: 0 });
}

export const steps = [
  [
    'a crowd connects, and the gateway counts its connections',
    async ({ demo, gateway, memory, shot }) => {
      memory.began = performance.now();
      await demo.openHood();
      for (const device of demo.devices()) await device.online();
      memory.before = await untilConnections(gateway, DEVICES);
      await demo.crowd.resize(CROWD);
      await demo.crowd.untilCount('bots-online', CROWD);
      await untilConnections(gateway, CROWD + DEVICES);
      await demo.crowd.untilCount('gateway-connections', CROWD + DEVICES);
      await shot('crowd');
    },
  ],
  [
    'its beats are acked, and the chart shows each',
    async ({ demo: { crowd }, memory }) => {
      await crowd.untilAtLeast('bots-acked', 'data-count', 2 * CROWD);
      await crowd.untilAtLeast('ack-chart', 'data-points', 2 * CROWD);
      assert.ok((await crowd.paintedPixels('--answered')) > CROWD);
      const [p50, p99] = [await crowd.number('acks-p50', 'data-ms'), await crowd.number('acks-p99', 'data-ms')];
      assert.ok(p50 > 0 && p50 <= p99 && p99 < performance.now() - memory.began, `p50 ${p50} ms, p99 ${p99} ms`);
    },
  ],
  [
    'when all viewers seek, most beats are coalesced',
    async ({ demo: { crowd }, gateway, memory, shot }) => {
      const sent = await crowd.count('bots-sent');
      await crowd.click('scrub');
      await crowd.untilAtLeast('bots-sent', 'data-count', sent + 5 * CROWD);
      const least = covered(memory.before) + CROWD;
      await untilMetrics(gateway, `${least} beats covered`, (metrics) => covered(metrics) >= least);
      await crowd.untilAtLeast('gateway-covered', 'data-count', least);
      await shot('crowd-dragged');
    },
  ],
  [
    'late acks come late and together, while commits go on',
    async ({ demo: { crowd }, gateway, memory, shot }) => {
      await crowd.untilAtMost('bots-in-flight', 'data-count', MOST / 5);
      const before = { acked: await crowd.count('bots-acked'), acks: await crowd.count('bots-acks') };
      const late = await crowd.count('bots-late');
      await crowd.click('late-acks');
      await untilCommittedUnacked(crowd, gateway, memory);
      await crowd.untilAtLeast('bots-late', 'data-count', late + 2 * CROWD);
      const beatsAcked = (await crowd.count('bots-acked')) - before.acked;
      const acks = (await crowd.count('bots-acks')) - before.acks;
      assert.ok(beatsAcked > 1.2 * acks, `${acks} acks for ${beatsAcked} beats`);
      assert.ok((await crowd.number('acks-slowest', 'data-ms')) > 5_000);
      await shot('crowd-late');
      await crowd.click('late-acks');
      await crowd.untilAtMost('bots-in-flight', 'data-count', MOST / 5);
    },
  ],
  [
    'every acked position is there',
    async ({ demo: { crowd } }) => readBackWhole(crowd, CROWD),
  ],
  [
    'a crowd that is sent away closes its sockets, and all its beats are accounted for',
    async ({ demo: { crowd }, gateway, memory }) => {
      await crowd.resize(0);
      await crowd.untilCount('bots-online', 0);
      await untilConnections(gateway, DEVICES);
      await crowd.untilCount('gateway-connections', DEVICES);
      await crowd.untilCount('bots-in-flight', 0);
      const sent = await crowd.count('bots-sent');
      assert.equal((await crowd.count('bots-acked')) + (await crowd.count('bots-rejected')), sent);
      const after = await gateway.metrics();
      assert.equal(beats(after) - beats(memory.before), sent);
      await crowd.untilCount('gateway-beats', beats(after));
      await crowd.untilCount('gateway-covered', covered(after));
      for (const role of ['bots-errors', 'bots-failed', 'bots-waiting', 'bots-unanswered']) {
        assert.equal(await crowd.count(role), 0, role);
      }
      assert.equal(await crowd.number('bots-back', 'data-lost'), 0);
    },
  ],
  [
    'all rewards are in the log, and the page counts each event once',
    async ({ demo: { rewards }, gateway }) => {
      // The last of them may still be on their way into the log.
      const deadline = performance.now() + PATIENCE_MS;
      for (;;) {
        const events = await gateway.events();
        const points = await rewards.number('points-all', 'data-count');
        if (events.length >= 2 * CROWD && points === worth(events)) return;
        assert.ok(performance.now() < deadline, `${points} points of ${worth(events)} in ${events.length} events`);
      }
    },
  ],
  [
    'the server is killed under a new crowd, which keeps its beats and tries again',
    async ({ demo: { crowd, phone }, gateway, shot }) => {
      await crowd.resize(CROWD);
      await crowd.untilCount('bots-online', CROWD);
      // From now on the chart shows a device's acks, too.
      assert.equal(await crowd.paintedPixels('--line'), 0);
      await phone.click('play');
      await phone.untilAtLeast('acked', 'data-count', 1);
      await crowd.untilPainted('--line');
      await gateway.kill();
      await crowd.untilCount('bots-online', 0);
      await crowd.untilIs('bots-back', 'data-lost', CROWD);
      await crowd.untilAtLeast('bots-failed', 'data-count', CROWD);
      await crowd.untilAtLeast('bots-unanswered', 'data-count', CROWD);
      await crowd.untilIs('gateway', 'data-state', 'away');
      await shot('crowd-killed');
    },
  ],
  [
    'the server is back: the crowd returns, unacked beats are sent, and every acked position is there',
    async ({ demo: { crowd }, gateway, shot }) => {
      await gateway.start();
      await crowd.untilCount('bots-back', CROWD);
      await crowd.untilCount('bots-online', CROWD);
      await untilConnections(gateway, CROWD + DEVICES);
      await crowd.untilIs('gateway', 'data-state', 'there');
      await crowd.untilAtMost('bots-unanswered', 'data-count', MOST / 5);
      await readBackWhole(crowd, CROWD);
      assert.equal(await crowd.count('bots-errors'), 0);
      await shot('crowd-back');
      await crowd.resize(0);
      await untilConnections(gateway, DEVICES);
    },
  ],
  [
    'a client may ask for late acks at any time, wherever its token goes',
    async ({ demo: { page } }) => {
      for (const auth of ['hello', 'subprotocol']) assert.deepEqual(await page.evaluate(hellos, auth), ['ok', 'ok'], auth);
    },
  ],
  [
    'after a reload the page continues at its last event',
    async ({ demo: { page, rewards }, gateway }) => {
      const offset = await rewards.number('events-offset', 'data-count');
      const points = await rewards.number('points-all', 'data-count');
      const first = page.waitForRequest(/\/demo\/events\?/);
      await page.reload();
      const after = Number(new URL((await first).url()).searchParams.get('after'));
      // Events may have come before the reload.
      const newest = (await gateway.events()).at(-1).offset;
      assert.ok(after > offset - 100 && after <= newest, `read up to ${offset}, and on from ${after} of ${newest}`);
      await rewards.untilAtLeast('points-all', 'data-count', points);
    },
  ],
];

// Runs in the page: asks once while the socket is opening and once when it is there; the answers to both.
async function hellos(auth) {
  const { Heartline } = await import('/demo/client/heartline.js');
  const getToken = async () => {
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch('/demo/token', { method: 'POST', headers, body: JSON.stringify({ mid: '77', ttl: 60 }) });
    return (await answer.json()).token;
  };
  const client = new Heartline({ user: '77', getToken, auth, storage: null });
  const asked = [];
  const answers = new Map();
  client.addEventListener('fault', ({ detail }) => answers.set('fault', detail.message));
  return new Promise((resolve) => {
    client.addEventListener('frame', ({ detail: { direction, kind, seq } }) => {
      if (direction === 'out' && kind === 'beats') return;
      // With `hello` the token's own one is answered by the welcome.
      if (direction === 'out' && kind === 'hello' && (auth === 'subprotocol' || seq > 1)) asked.push(seq);
      if (direction === 'out' && kind === 'hello' && seq === 1 && auth === 'hello') client.ackDelay = 5_000;
      if (direction === 'in' && kind === 'result') answers.set(seq, 'ok');
      if (direction === 'in' && kind === 'error') answers.set(seq, 'error');
      if (asked.length < 2 || asked.some((seq) => !answers.has(seq))) return;
      client.close();
      resolve(asked.map((seq) => answers.get(seq)));
    });
    client.addEventListener('state', ({ detail: { state } }) => {
      if (state === 'online') client.ackDelay = 6_000;
    });
    client.connect();
  });
}
