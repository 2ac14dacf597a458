/** The crowd's part of the page: its controls, the chart of all acks, and two columns of counters. */

import { AckChart } from './ack-chart.js';
import { GatewayMetrics } from './gateway-metrics.js';
import { BOTS_MAX, Swarm } from './swarm.js';
import { latency } from './text.js';

/** Asked for while late acks are on: time for three beats, so that one ack answers them together. */
const ACK_DELAY_MS = 12_000;

export class Crowd {
  #root;
  #swarm = new Swarm();
  #chart;
  #gateway;
  #lateChanged;

  /** @param {(ackDelay: number) => void} lateChanged  the switch for late acks was pressed, which holds for all clients */
  constructor(root, lateChanged) {
    this.#root = root;
    this.#lateChanged = lateChanged;
    this.#chart = new AckChart(this.#role('ack-chart'), numbers => this.#showAcks(numbers));
    this.#gateway = new GatewayMetrics(numbers => this.#showGateway(numbers));
    this.#swarm.addEventListener('acks', ({ detail: { at, times } }) => this.#chart.add(at, times, 'bots'));
    this.#swarm.addEventListener('tally', ({ detail }) => this.#showSwarm(detail));
    this.#listen();
  }

  /** How late acks may come, in milliseconds. */
  get ackDelay() {
    return this.#role('late-acks').getAttribute('aria-pressed') === 'true' ? ACK_DELAY_MS : 0;
  }

  /** An ack of the page's own devices: how long it took, in milliseconds. */
  acked(ms) {
    this.#chart.add(performance.timeOrigin + performance.now(), [ms], 'own');
    this.#gateway.stir();
  }

  #role(role) {
    return this.#root.querySelector(`[data-role=${role}]`);
  }

  #listen() {
    const slider = this.#role('bots');
    slider.max = BOTS_MAX;
    slider.addEventListener('input', () => this.#resize());
    this.#role('late-acks').addEventListener('click', ({ currentTarget }) => {
      currentTarget.setAttribute('aria-pressed', String(this.ackDelay === 0));
      this.#swarm.ackDelay = this.ackDelay;
      this.#lateChanged(this.ackDelay);
    });
    this.#role('scrub').addEventListener('click', () => this.#swarm.scrub());
    this.#role('readback').addEventListener('click', () => this.#readBack());
    this.#resize();  // a browser may keep the slider where it was over a reload
  }

  #resize() {
    const { value, valueAsNumber, max } = this.#role('bots');
    this.#role('bots').style.setProperty('--played', valueAsNumber / max);
    this.#role('bots-wanted').textContent = value;
    this.#swarm.resize(valueAsNumber);
  }

  async #readBack() {
    const shown = this.#role('readback-result');
    shown.textContent = 'Checking …';
    const { asked, kept, bots, silent } = await this.#swarm.readBack();
    Object.assign(shown.dataset, { asked, kept, bots, silent });
    const unheard = silent > 0 ? ` ${silent} bots had no connection.` : '';
    const all = asked === kept ? `All ${asked} acked positions` : `${kept} of ${asked} acked positions`;
    shown.textContent = bots > 0 ? `${all} read back by ${bots} bots.${unheard}` : 'No bot is connected.';
  }

  #showAcks({ p50, p99, slowest, count }) {
    for (const [role, ms] of [['acks-p50', p50], ['acks-p99', p99], ['acks-slowest', slowest]]) {
      this.#role(role).dataset.ms = ms.toFixed(2);
      this.#write(role, latency(ms));
    }
    this.#count('acks-count', count);
  }

  #showSwarm(tally) {
    const { bots, online, waiting, delay, inFlight, acked, acks, back, lost, ...plain } = tally;
    this.#count('bots-online', online, `${online} of ${bots}`);
    this.#count('bots-waiting', waiting, waiting > 0 ? `${waiting}, up to ${(delay / 1_000).toFixed(1)} s` : '0');
    for (const [name, count] of Object.entries(plain)) this.#count(`bots-${name}`, count);
    this.#count('bots-acked', acked);
    this.#count('bots-in-flight', inFlight);
    this.#count('bots-acks', acks, acks > 0 ? `${acks} (${(acked / acks).toFixed(2)} beats each)` : '0');
    this.#count('bots-back', back, `${back} of ${lost}`);
    this.#role('bots-back').dataset.lost = lost;
    this.#gateway.stir();
  }

  #showGateway(numbers) {
    this.#role('gateway').dataset.state = numbers ? 'there' : 'away';
    if (!numbers) return;
    const { connections, beats, written, covered, commits } = numbers;
    this.#count('gateway-connections', connections);
    this.#count('gateway-beats', beats);
    this.#count('gateway-written', written);
    this.#count('gateway-covered', covered, beats > 0 ? `${covered} (${(100 * covered / beats).toFixed(1)} %)` : '0');
    this.#count('gateway-commits', commits, commits > 0 ? `${commits} (${(beats / commits).toFixed(2)} beats each)` : '0');
  }

  #count(role, count, text = String(count)) {
    this.#role(role).dataset.count = count;
    this.#write(role, text);
  }

  #write(role, text) {
    this.#role(role).querySelector('dd').textContent = text;
  }
}
