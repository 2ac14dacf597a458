// What gateways share, as processes: one Redis, one Kafka, and HAProxy before them, with the files of deploy/.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const READY_MS_MAX = 120_000;

// Ports that were free a moment ago, all different.
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
  return ports;
}

export class Redis {
  constructor(scratch) {
    this.directory = join(scratch, 'redis');
  }

  // Its script ends what it started when it is ended; `url` is what gateways are told.
  async start() {
    this.script = spawn('tests/services/redis.sh', ['single', this.directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface(this.script.stdout)) {
      if (line.startsWith('redis')) {
        this.url = line;
        return;
      }
    }
    throw new Error('Redis did not start');
  }

  async stop() {
    if (!this.script || this.script.exitCode !== null) return;
    this.script.kill('SIGTERM');
    await once(this.script, 'exit');
  }
}

export class Kafka {
  constructor(scratch) {
    this.directory = join(scratch, 'kafka');
  }

  // `address` is what gateways are told.
  async start() {
    this.broker = spawn('tests/services/kafka.sh', [this.directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface(this.broker.stdout)) {
      if (!line.includes('Kafka Server started')) continue;
      this.address = `127.0.0.1:${readFileSync(join(this.directory, 'port'), 'utf8').trim()}`;
      // What it says from now on is not needed, but must not fill the pipe.
      this.broker.stdout.resume();
      return;
    }
    throw new Error('Kafka did not start');
  }

  async stop() {
    if (!this.broker || this.broker.exitCode !== null) return;
    this.broker.kill('SIGKILL');
    await once(this.broker, 'exit');
  }
}

// What a gateway needs that sends history packs: with the role `gateway` it has no Cassandra.
export class HistoryTiers {
  constructor(scratch) {
    this.redis = new Redis(scratch);
    this.kafka = new Kafka(scratch);
    this.words = ['--role', 'gateway'];
  }

  async start(binary) {
    await Promise.all([this.redis.start(), this.kafka.start()]);
    this.settings = {
      HEARTLINE__STORE__HOT_STORE: 'redis',
      HEARTLINE__REDIS__URL: this.redis.url,
      HEARTLINE__KAFKA__BROKERS: JSON.stringify([this.kafka.address]),
      HEARTLINE__KAFKA__REPLICATION: '1',
      HEARTLINE__KAFKA__MIN_IN_SYNC: '1',
      HEARTLINE__HISTORY__STORE: 'cassandra',
      // Nothing listens there.
      HEARTLINE__CASSANDRA__NODES: '["127.0.0.1:1"]',
      HEARTLINE__HISTORY__INTERVAL: '1s',
    };
    await promisify(execFile)(binary, ['init'], { env: { ...process.env, ...this.settings } });
  }

  async stop() {
    await this.redis.stop();
    await this.kafka.stop();
  }
}

export class Balancer {
  constructor(scratch) {
    this.log = join(scratch, 'haproxy.log');
  }

  // `gateways` are those of gateway.mjs, which have their ports.
  async start(gateways) {
    const [port, status] = await freePorts(2);
    this.url = `http://127.0.0.1:${port}`;
    this.status = `http://127.0.0.1:${status}`;
    const places = gateways.flatMap(({ listen, adminListen }, at) => [
      [`GATEWAY_${at + 1}`, listen],
      [`GATEWAY_${at + 1}_ADMIN_PORT`, adminListen.split(':').at(-1)],
    ]);
    const log = openSync(this.log, 'a');
    this.child = spawn('haproxy', ['-db', '-f', 'deploy/haproxy/haproxy.cfg'], {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        LB_LISTEN: `127.0.0.1:${port}`,
        LB_STATUS: `127.0.0.1:${status}`,
        LB_DEMO: 'on',
        ...Object.fromEntries(places),
      },
    });
    closeSync(log);
    await this.until(...gateways.keys());
  }

  // Until just these gateways, counted from 0, get new connections.
  async until(...ready) {
    const wanted = ready.map((at) => `gateway-${at + 1}`).join();
    const giveUp = Date.now() + READY_MS_MAX;
    while ((await this.ready()) !== wanted) {
      if (Date.now() > giveUp) throw new Error(`HAProxy does not see ${wanted} ready; see ${this.log}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  async ready() {
    const answer = await fetch(`${this.status}/metrics`).catch(() => null);
    const text = (await answer?.text()) ?? '';
    const up = /^haproxy_server_status\{proxy="gateways",server="([^"]+)",state="UP"\} 1$/gm;
    return [...text.matchAll(up)].map(([, name]) => name).sort().join();
  }

  async stop() {
    if (!this.child || this.child.exitCode !== null) return;
    this.child.kill('SIGKILL');
    await once(this.child, 'exit');
  }
}
