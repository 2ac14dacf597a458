/**
 * What the gateway has counted itself, from the demo's own route: nothing else on the page comes from there. It is read
 * after something has happened, at most twice a second, and for the last time when nothing has happened for a while.
 */

const READ_MS_APART = 500;

export class GatewayMetrics {
  #show;
  #stirredAt = 0;
  #reading = false;

  /** @param {(numbers: object | null) => void} show  null: the gateway does not answer */
  constructor(show) {
    this.#show = show;
  }

  /** Something has happened that it may have counted. */
  async stir() {
    this.#stirredAt = performance.now();
    if (this.#reading) return;
    this.#reading = true;
    let began;
    do {
      began = performance.now();
      this.#show(await read());
      await new Promise(resolve => setTimeout(resolve, READ_MS_APART));
    } while (began < this.#stirredAt + READ_MS_APART);
    this.#reading = false;
  }
}

async function read() {
  try {
    const answer = await fetch('/demo/metrics');
    return answer.ok ? numbers(await answer.text()) : null;
  } catch {
    return null;
  }
}

/** Of OpenMetrics text, by name and labels as they stand there. */
function numbers(text) {
  const values = new Map(text.split('\n').filter(line => /^\w/.test(line)).map(line => {
    const end = line.lastIndexOf(' ');
    return [line.slice(0, end), Number(line.slice(end + 1))];
  }));
  const beats = [...values].filter(([name]) => name.startsWith('heartline_beats_total{'));
  return {
    connections: values.get('heartline_connections') ?? 0,
    beats: beats.reduce((sum, [, value]) => sum + value, 0),
    written: values.get('heartline_beats_total{outcome="written"}') ?? 0,
    covered: values.get('heartline_beats_total{outcome="covered"}') ?? 0,
    commits: values.get('heartline_commit_group_slots_count') ?? 0,
  };
}
