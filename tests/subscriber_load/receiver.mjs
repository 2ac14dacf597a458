// The endpoints of all owners, in a process of its own, so that nothing else takes time from it.
//
//   node receiver.mjs LOG
//
// It says its port on stdout. Each line on stdin tells how an owner answers from now on: {"owner":"17","status":500},
// with "hang" never, with "seconds" that much later; it ends with stdin. Each line of LOG is a request, in the order of
// their coming: milliseconds of the monotonic clock, owner, the status that it gets (0: none), ids of its events.
import { openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

const WRITE_EVERY_MS = 50;
const GOOD = { status: 200 };

const log = openSync(process.argv[2], 'a');
const told = new Map();
let lines = [];

function came(owner, status, body) {
  const events = JSON.parse(body);
  const ids = Array.isArray(events) ? events.map((event) => event.id).join(' ') : events.id;
  lines.push(`${Number(process.hrtime.bigint() / 1000n) / 1000} ${owner} ${status} ${ids}\n`);
}

function write() {
  writeSync(log, lines.join(''));
  lines = [];
}

function answer(response, { status, seconds }) {
  const end = () => response.writeHead(status, { 'content-length': 0 }).end();
  if (seconds) setTimeout(end, 1000 * seconds);
  else end();
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    const owner = request.url.split('/', 2)[1];
    const behaviour = told.get(owner) ?? GOOD;
    came(owner, behaviour.hang ? 0 : behaviour.status, Buffer.concat(chunks));
    if (!behaviour.hang) answer(response, behaviour);
  });
});
// A connection that it closes while a request comes would be a failure of its own making.
Object.assign(server, { keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 });
server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => console.log(server.address().port));
setInterval(write, WRITE_EVERY_MS);

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { owner, ...behaviour } = JSON.parse(line);
    told.set(owner, { ...GOOD, ...behaviour });
  })
  .on('close', () => {
    write();
    process.exit(0);
  });
