// The same deliveries with BullMQ: a queue and a worker for each owner, one job at a time, which keeps the order.
//
//   node bullmq.mjs REDIS_PORT RECEIVER_PORT OWNERS
//
// BULLMQ names the folder whose node_modules have bullmq and ioredis. Each line on stdin has events to queue, in order:
// [["17",{…}],…], pairs of owner and event. It says "ready" once, and ends with stdin.
import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(`${process.env.BULLMQ}/`);
const { Queue, Worker } = require('bullmq');
const IORedis = require('ioredis');

const [redisPort, receiverPort, owners] = process.argv.slice(2).map(Number);
const SECRET = Buffer.alloc(32, 7);
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const connection = new IORedis(redisPort, '127.0.0.1', { maxRetriesPerRequest: null });
const queues = new Map();

function deliver(owner, event) {
  const body = JSON.stringify(event);
  const timestamp = Math.floor(Date.now() / 1000);
  const signature = createHmac('sha256', SECRET).update(`${event.id}.${timestamp}.${body}`).digest('base64');
  const headers = {
    'content-type': 'application/cloudevents+json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    'webhook-id': event.id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
  return new Promise((resolve, reject) => {
    const options = { agent, host: '127.0.0.1', port: receiverPort, path: `/${owner}/events`, method: 'POST', headers };
    const sent = request(options, (response) => {
      response.resume();
      response.on('end', () => (response.statusCode < 300 ? resolve() : reject(new Error(`${response.statusCode}`))));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

for (let owner = 0; owner < owners; owner += 1) {
  const name = `owner-${owner}`;
  queues.set(String(owner), new Queue(name, { connection }));
  new Worker(name, (job) => deliver(owner, job.data), { connection, concurrency: 1 });
}

async function add(events) {
  const opts = { removeOnComplete: true, attempts: 10, backoff: { type: 'fixed', delay: 5000 } };
  const jobs = new Map();
  for (const [owner, data] of events) {
    if (!jobs.has(owner)) jobs.set(owner, []);
    jobs.get(owner).push({ name: 'event', data, opts });
  }
  await Promise.all([...jobs].map(([owner, all]) => queues.get(owner).addBulk(all)));
}

await Promise.all([...queues.values()].map((queue) => queue.waitUntilReady()));
console.log('ready');
createInterface({ input: process.stdin })
  .on('line', (line) => add(JSON.parse(line)))
  .on('close', () => process.exit(0));
