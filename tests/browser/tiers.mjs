// What several gateways share, as processes: one Redis, and HAProxy before them, with the files of deploy/.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

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
