// The live page: it shows each event of the gateway's stream, and moves by nothing else.
//
// ?part=NAME,NAME shows these parts alone: now, minute, hour, top, rising, shares, tail.
//
// Names a test may rely on. Elements are found by data-role, values are read from data attributes.
//   [data-role=page]            body: data-state = connecting | live | away | refused; data-parts = those of ?part=
//   [data-role=state]           the same in words; [data-role=at] data-at = milliseconds, of the newest numbers
//   [data-role=again]           button, only after a refusal; [data-role=unknown] ?part= names no part
//   [data-part=NAME]            a part
//   [data-role=users], sessions     data-count
//   [data-role=kinds]           list: data-kind, data-sessions
//   [data-role=minute], hour    svg: data-newest, data-most, data-least
//   [data-role=top], rising     list, the first one first: data-kind, data-oid, data-sessions
//   [data-role=top-error], rising-error     hidden if the ranking is exact; data-error
//   [data-part=shares]          data-shown = how many of [data-share=devices], os, browsers, countries are shown, each
//                               with a list: data-name, data-sessions
//   [data-role=tail]            list, newest first: data-at, data-kind, data-oid

import { drawBars, drawLine } from './curves.js';
import { clock, contentCells, country, device } from './names.js';
import { writeRows } from './rows.js';
import { followShared } from './shared-feed.js';
import { showShares } from './shares.js';

const WORDS = {
  connecting: 'connecting',
  live: 'live',
  away: 'gateway away, trying again',
  refused: 'refused by the gateway',
};

const ERRORS = { top: 'at most', rising: 'gained at most' };

const part = role => document.querySelector(`[data-role=${role}]`);
const count = new Intl.NumberFormat('en').format;
const page = part('page');

function show({ at, users, sessions, kinds, series, top, rising, shares, tail }) {
  part('at').dataset.at = at;
  part('at').textContent = clock(at);
  document.title = `${count(users)} watching: Heartline`;
  showCount('users', users);
  showCount('sessions', sessions);
  writeRows(part('kinds'), kinds, ({ kind, sessions }) => [['', `kind ${kind}: ${count(sessions)}`]], each => each);
  showCurve('minute', drawLine, series.seconds);
  showCurve('hour', drawBars, series.minutes);
  // The bars are shares of all sessions. Those that rise are not in the order of their sessions, and have none.
  showRanking('top', top, each => each.sessions / sessions);
  showRanking('rising', rising, () => 0);
  showShares(document.querySelector('[data-part=shares]'), shares);
  writeRows(part('tail'), tail, visitCells, ({ at, kind, oid }) => ({ at, kind, oid }));
}

function showCount(role, number) {
  part(role).dataset.count = number;
  part(role).querySelector('dd').textContent = count(number);
}

function showCurve(role, draw, numbers) {
  draw(part(role), numbers);
  part(`${role}-most`).textContent = count(Math.max(...numbers));
}

function showRanking(role, { top: contents, error }, share) {
  const cells = content => [...contentCells(content), ['count', count(content.sessions)]];
  writeRows(part(role), contents, cells, content => ({ ...content, share: share(content) }));
  const shown = part(`${role}-error`);
  shown.hidden = error === 0;
  shown.dataset.error = error;
  shown.textContent = `A content left out by mistake has ${ERRORS[role]} ${count(error)} sessions.`;
}

function visitCells(visit) {
  const { at, os, browser } = visit;
  const from = [visit.device && device(visit.device), os, browser, visit.country && country(visit.country)];
  return [['', clock(at), 'time'], ...contentCells(visit), ['from', from.filter(Boolean).join(' · ')]];
}

function showState(state) {
  page.dataset.state = state;
  // Only when it has changed: it is read aloud.
  if (part('state').textContent !== WORDS[state]) part('state').textContent = WORDS[state];
  part('again').hidden = state !== 'refused';
}

/** Leaves the parts that the URL names, if it names any; otherwise each heading has a link to its part alone. */
function chooseParts() {
  const all = new Map([...document.querySelectorAll('[data-part]')].map(section => [section.dataset.part, section]));
  const wanted = new URLSearchParams(location.search).get('part')?.split(',').filter(name => all.has(name));
  if (wanted?.length > 0) {
    page.dataset.parts = wanted.join();
    for (const [name, section] of all) section.hidden = !wanted.includes(name);
    return;
  }
  part('unknown').hidden = !wanted;
  part('unknown').textContent = `There is no such part. The parts are ${[...all.keys()].join(', ')}.`;
  for (const [name, section] of all) section.querySelector('h2').after(linkTo(name, section));
}

function linkTo(name, section) {
  const link = document.createElement('a');
  link.className = 'alone';
  link.href = `?part=${name}`;
  link.textContent = '↗';
  link.setAttribute('aria-label', `${section.querySelector('h2').textContent}, by itself`);
  return link;
}

chooseParts();
const feed = followShared(({ state, live }) => {
  showState(state);
  if (live) show(live);
});
part('again').addEventListener('click', () => {
  showState('connecting');
  feed.again();
});
