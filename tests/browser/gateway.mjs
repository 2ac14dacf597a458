// The real binary as a child process, killed and started again on the same directory and port.
import { spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const READY =
  /^heartline is listening on (http:\/\/\S+) \(admin (http:\/\/\S+)\)\ncontrol listener: (http:\/\/\S+) .*$/m;
const CONTROL_TOKEN = 'a-control-token-of-the-browser-tests-0123456789';
const START_MS_MAX = 120_000;

export class Gateway {
  // `settings` beside those that keep it apart from others, by their names in the environment; `words` after `serve`.
  constructor(binary, scratch, settings = {}, words = []) {
    this.binary = binary;
    this.scratch = scratch;
    this.dataDir = join(scratch, 'data');
    this.settings = settings;
    this.words = words;
    this.listen = '127.0.0.1:0';
    this.adminListen = '127.0.0.1:0';
    this.controlListen = '127.0.0.1:0';
  }

  // Resolves when it serves; from then on `url` is its address, also after a restart, and `admin` that of the metrics.
  async start() {
    const log = openSync(join(this.scratch, 'gateway.log'), 'a');
    this.child = spawn(this.binary, ['serve', ...this.words], {
      stdio: ['ignore', 'pipe', log],
      env: {
        ...process.env,
        HEARTLINE__SERVER__LISTEN: this.listen,
        HEARTLINE__ADMIN__LISTEN: this.adminListen,
        HEARTLINE__CONTROL__LISTEN: this.controlListen,
        HEARTLINE__CONTROL__TOKEN: CONTROL_TOKEN,
        HEARTLINE__STORE__DATA_DIR: this.dataDir,
        ...this.settings,
      },
    });
    closeSync(log);
    this.ended = new Promise((resolve) => this.child.once('exit', (code) => resolve(code)));
    [this.url, this.admin, this.control] = await Promise.race([this.ready(), this.failed()]);
    this.listen = new URL(this.url).host;
    this.adminListen = new URL(this.admin).host;
    this.controlListen = new URL(this.control).host;
  }

  ready() {
    return new Promise((resolve, reject) => {
      let text = '';
      const late = setTimeout(() => reject(new Error(`not ready in time: ${text}`)), START_MS_MAX);
      this.child.stdout.on('data', (chunk) => {
        text += chunk;
        const found = READY.exec(text);
        if (found) {
          clearTimeout(late);
          resolve(found.slice(1));
        }
      });
    });
  }

  async failed() {
    throw new Error(`the gateway ended with exit code ${await this.ended}; see ${this.scratch}/gateway.log`);
  }

  // What it has counted since its start, by name and labels as they stand in the text.
  async metrics() {
    const text = await (await fetch(`${this.admin}/metrics`)).text();
    const lines = text.split('\n').filter((line) => /^heartline_/.test(line));
    return Object.fromEntries(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
  }

  // All that the event log holds: { offset, event }.
  async events() {
    const all = [];
    for (;;) {
      const answer = await fetch(`${this.control}/v1/events?after=${all.at(-1)?.offset ?? 0}`, {
        headers: { Authorization: `Bearer ${CONTROL_TOKEN}` },
      });
      if (!answer.ok) throw new Error(`/v1/events: ${answer.status} ${await answer.text()}`);
      const { events } = await answer.json();
      if (events.length === 0) return all;
      all.push(...events);
    }
  }

  // SIGTERM; its exit code, when it has drained.
  async stop() {
    this.child.kill('SIGTERM');
    return this.ended;
  }

  async kill() {
    this.child?.kill('SIGKILL');
    await this.ended;
  }

  // Everything it has stored, its keys too. Only while it does not run.
  deleteData() {
    rmSync(this.dataDir, { recursive: true });
  }
}
