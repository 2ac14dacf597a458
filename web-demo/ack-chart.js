/**
 * Draws how long acks took: one dot each, the newest at the right edge, higher is slower (logarithmic). It is drawn anew
 * when acks have come, and at no other time; without acks it stands still.
 *
 * Bound: DOTS_MAX dots, none older than WINDOW_MS before the newest. The quantiles are those of the last LAST acks.
 */

import { latency } from './text.js';

const DOTS_MAX = 6_000;
const WINDOW_MS = 60_000;
const LAST = 1_000;
/** The scale, in milliseconds. */
const BOTTOM = 0.5;
const TOP = 60_000;
const RULES = [1, 10, 100, 1_000, 10_000];
/** Upright lines, so far apart. */
const UPRIGHTS_MS = 10_000;
const MARGIN = { left: 52, right: 14, top: 4, bottom: 8 };
/** Radius and opacity of a dot. */
const DOT = { bots: [1.8, 0.5], own: [3.6, 1] };

export class AckChart {
  #canvas;
  #show;
  #dots = [];
  #last = [];
  #count = 0;
  #drawing = false;

  /** @param {(numbers: { p50: number, p99: number, slowest: number, count: number }) => void} show */
  constructor(canvas, show) {
    this.#canvas = canvas;
    this.#show = show;
    new ResizeObserver(() => this.#later()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#later());
  }

  /** `at`: when they came, in milliseconds of the epoch; `times`: how long each took; `whose`: own or bots. */
  add(at, times, whose) {
    // A hidden page is not drawn, and what would have been left out then goes here.
    this.#dots = [...this.#dots, ...times.map(ms => ({ at, ms, whose }))].slice(-DOTS_MAX);
    this.#last = [...this.#last, ...times].slice(-LAST);
    this.#count += times.length;
    this.#later();
  }

  /** Many acks come between two frames of the screen: they are drawn together. */
  #later() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#draw();
    });
  }

  #draw() {
    const newest = this.#dots.reduce((latest, { at }) => Math.max(latest, at), 0);
    this.#dots = this.#dots.filter(({ at }) => at > newest - WINDOW_MS);
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    Object.assign(this.#canvas, { width: width * devicePixelRatio, height: height * devicePixelRatio });
    const pen = this.#canvas.getContext('2d');
    pen.scale(devicePixelRatio, devicePixelRatio);
    const style = getComputedStyle(this.#canvas);
    const sheet = {
      pen,
      width,
      height,
      ink: name => style.getPropertyValue(name),
      x: since => width - MARGIN.right + since / WINDOW_MS * (width - MARGIN.left - MARGIN.right),
      y: ms => {
        const share = Math.log(Math.max(BOTTOM, Math.min(TOP, ms)) / BOTTOM) / Math.log(TOP / BOTTOM);
        return height - MARGIN.bottom - share * (height - MARGIN.top - MARGIN.bottom);
      },
    };
    pen.font = `11px ${style.fontFamily}`;
    pen.textBaseline = 'middle';
    this.#rules(sheet);
    this.#spots(sheet, newest);
    if (this.#last.length > 0) this.#quantiles(sheet);
    this.#canvas.dataset.points = this.#dots.length;
  }

  /** Paper with one decade upon the other. */
  #rules({ pen, width, height, ink, x, y }) {
    pen.textAlign = 'right';
    pen.fillStyle = ink('--soft');
    for (const decade of RULES) {
      for (let part = 1; part < 10 && part * decade < TOP; part++) {
        pen.strokeStyle = ink(part === 1 ? '--grid-strong' : '--grid');
        level(pen, width, y(part * decade));
      }
      pen.fillText(latencyMark(decade), MARGIN.left - 7, y(decade));
    }
    pen.strokeStyle = ink('--grid-strong');
    for (let back = 0; back <= WINDOW_MS; back += UPRIGHTS_MS) upright(pen, height, x(-back));
  }

  #spots({ pen, ink, x, y }, newest) {
    const inks = { bots: ink('--answered'), own: ink('--line') };
    // Those of the devices last, so that they lie above the crowd's.
    for (const whose of ['bots', 'own']) {
      const [radius, opacity] = DOT[whose];
      pen.fillStyle = inks[whose];
      pen.globalAlpha = opacity;
      for (const dot of this.#dots) {
        if (dot.whose !== whose) continue;
        pen.beginPath();
        pen.arc(x(dot.at - newest), y(dot.ms), radius, 0, 2 * Math.PI);
        pen.fill();
      }
    }
    pen.globalAlpha = 1;
  }

  #quantiles({ pen, width, ink, y }) {
    const sorted = this.#last.toSorted((a, b) => a - b);
    const quantile = share => sorted[Math.ceil(share * sorted.length) - 1];
    const [p50, p99] = [quantile(0.5), quantile(0.99)];
    pen.strokeStyle = pen.fillStyle = ink('--ink');
    pen.textAlign = 'left';
    pen.setLineDash([5, 4]);
    for (const ms of [p50, p99]) level(pen, width, y(ms));
    pen.setLineDash([]);
    // One above its line and one below, for the lines may lie close together; over dots, so with a rim of paper.
    pen.strokeStyle = ink('--card');
    pen.lineWidth = 4;
    for (const [name, height] of [['p50', y(p50) + 9], ['p99', y(p99) - 8]]) {
      pen.strokeText(name, MARGIN.left + 4, height);
      pen.fillText(name, MARGIN.left + 4, height);
    }
    this.#show({ p50, p99, slowest: sorted.at(-1), count: this.#count });
    const words = `${this.#dots.length} acks of the last minute; half took at most ${latency(p50)}, 99 % at most ${latency(p99)}`;
    this.#canvas.setAttribute('aria-label', words);
  }
}

function latencyMark(ms) {
  return ms < 1_000 ? `${ms} ms` : `${ms / 1_000} s`;
}

function level(pen, width, height) {
  stroke(pen, [MARGIN.left, Math.round(height) + 0.5], [width, Math.round(height) + 0.5]);
}

function upright(pen, height, x) {
  stroke(pen, [Math.round(x) + 0.5, 0], [Math.round(x) + 0.5, height]);
}

function stroke(pen, from, to) {
  pen.beginPath();
  pen.moveTo(...from);
  pen.lineTo(...to);
  pen.stroke();
}
