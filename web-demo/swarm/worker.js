/**
 * One worker of the swarm: keeps the bots it is told to, and says what they saw.
 *
 * In:  { bots: [{ index, user }], ackDelay }   who shall be there, all of them
 *      { scrub: true }                         every bot seeks ten times
 *      { readBack: number }                    asks for what was acked, to be answered under this number
 * Out: { tally, acks: { at, times } }          `at` in milliseconds of the epoch, `times` those of the acks since
 *      { readBack, asked, kept, bots, silent } positions, and bots that answered or could not
 *
 * Bounds: one bot starts at a time, START_MS_APART after the last. Nothing is said more often than SAY_MS_APART.
 */

import { AckedPositions } from '../acked-positions.js';
import { demoToken } from '../demo-token.js';
import { Bot } from './bot.js';
import { add, tally } from './tally.js';

const START_MS_APART = 40;
const SAY_MS_APART = 50;

/** By index. */
const bots = new Map();
const leaving = new Set();
/** By index; what was acked to a user holds also for the next bot that is this user. */
const positions = new Map();
/** What those who left have counted. */
const past = tally();

let wanted = new Map();
let ackDelay = 0;
let times = [];
let starting = null;
let saying = null;

self.onmessage = ({ data }) => {
  if (data.bots) keep(data);
  if (data.scrub) for (const bot of bots.values()) bot.scrub();
  if (data.readBack !== undefined) readBack(data.readBack);
};

function keep(order) {
  wanted = new Map(order.bots.map(({ index, user }) => [index, user]));
  if (order.ackDelay !== ackDelay) {
    ackDelay = order.ackDelay;
    for (const bot of bots.values()) bot.ackDelay = ackDelay;
  }
  for (const [index, bot] of bots) if (!wanted.has(index)) leave(index, bot);
  starting ??= setTimeout(startNext, 0);
  changed();
}

function startNext() {
  const next = [...wanted].find(([index]) => !bots.has(index));
  starting = next ? setTimeout(startNext, START_MS_APART) : null;
  if (next) start(...next);
}

function start(index, user) {
  const acknowledged = positions.get(index) ?? new AckedPositions();
  positions.set(index, acknowledged);
  const bot = new Bot({ user, getToken: () => demoToken(user), ackDelay, positions: acknowledged }, { acked, changed });
  bots.set(index, bot);
  bot.enter();
}

async function leave(index, bot) {
  bots.delete(index);
  leaving.add(bot);
  await bot.leave();
  leaving.delete(bot);
  add(past, { ...bot.tally, bots: 0, online: 0, waiting: 0, inFlight: 0, unanswered: 0, delay: 0 });
  changed();
}

async function readBack(number) {
  const answers = await Promise.all([...bots.values()].map(bot => bot.readBack()));
  const heard = answers.filter(Boolean);
  const total = name => heard.reduce((sum, answer) => sum + answer[name], 0);
  const silent = answers.length - heard.length;
  self.postMessage({ readBack: number, asked: total('asked'), kept: total('kept'), bots: heard.length, silent });
}

function acked(more) {
  times.push(...more);
}

function changed() {
  saying ??= setTimeout(say, SAY_MS_APART);
}

function say() {
  saying = null;
  const sum = add(tally(), past);
  for (const bot of [...bots.values(), ...leaving]) add(sum, bot.tally);
  self.postMessage({ tally: sum, acks: { at: performance.timeOrigin + performance.now(), times } });
  times = [];
}
