// The demo page: two devices of one user, each with a client of its own, what they earn, and a crowd of other
// users.
//
// Names a test may rely on. Elements are found by data-role, those of a device inside [data-device=phone] or
// [data-device=tv]; values are read from data attributes, never from the text, which is for people.
//
// Page
//   [data-role=user]            select, values are mids: 42, 7, 1001. A change makes new clients for both devices
//   [data-role=announce]        aria-live region
//   [data-role=hood]            details "Under the hood", closed at first: the tapes, the packs and the crowd
//   [data-role=question]        dialog that asks before all is forgotten; [data-role=agree], [data-role=refuse]
//   [data-role=source]          link to the source
// Guide: [data-role=guide]
//   [data-step=NAME]            play, pause, continue, cut, kill: data-done = true | false; the next one has
//                               aria-current=step; [data-role=seen] in it is what was seen
//   [data-role=pid]             the gateway's process; [data-role=start] the command that starts it again
//   [data-command=NAME]         kill, start: data-copied = true | false; [data-role=copy] in it is a button
//   [data-role=recovered]       after a restart of the gateway, until the next loss, in beats: data-checked = acked before,
//                               data-read-back = of these, returned before anything was resent, or something newer;
//                               data-lost, or unknown for these three: they could not be read back; data-resent;
//                               data-dropped = unacked, by a full outbox
// Device: [data-device=NAME]
//   [data-role=state]           data-state = connecting | online | waiting | offline | parked | stopped,
//                               data-code = the last close code ("" before the first), data-seconds = while waiting, the
//                               seconds until the next attempt
//   [data-role=cut]             button: closes the socket under the client, which reconnects by itself, while the video
//                               plays not before a beat waits; hidden while retry is shown
//   [data-role=retry]           button from the loss of a connection to the next one: the client connects at once;
//                               aria-disabled while it does
//   [data-role=more]            button on narrow screens: shows the rest below; aria-expanded
//   [data-role=content]         select, values are oids: 100, 101, 102 (kind 1)
//   [data-role=video]           the video element
//   [data-role=watching]        data-count = people who watch the chosen content; hidden if none is known
//   [data-role=viewed]          data-count = views of the chosen content; hidden if it is not known
//   [data-role=audience]        data-viewers = people who have the chosen content in their history, data-finishers = of these,
//                               those who have finished it; "" = not counted. Hidden if neither is known
//   [data-role=play]            button, plays and pauses; data-playing = true | false. Plays from the offered position,
//                               unless the user has moved the paused video
//   [data-role=seek]            range input, seconds
//   [data-role=resume]          button "Continue at 0:07 from phone", hidden when there is nothing to offer, or while the
//                               device plays;
//                               data-pos (ms), data-from (the record's device), data-oid
//   [data-role=toast]           button, one per reward earned here: data-id, data-rule, data-day; pressed, or after its
//                               animation of 10 s, it is gone. The pointer over it and the focus stop the animation
//   [data-role=elsewhere]       note "Continued on ...", hidden unless another device took over what plays here
//   [data-role=sound]           button; aria-pressed. The videos start muted
//   [data-role=offline]         button: stays off the network until pressed again; aria-pressed
//   [data-role=unrecorded]      note in the picture, hidden unless recording is paused
//   [data-role=recording]       button: pauses recording for the user; aria-pressed = paused
//   [data-role=delete]          button: forgets the chosen content's record
//   [data-role=clear]           button: asks, then forgets everything of the user
//                               (recording, delete and clear are aria-disabled while offline or stopped, cut unless online)
//   [data-role=outbox]          data-count = beats not yet answered
//   [data-role=acked]           data-count = beats acked since the page was loaded,
//                               data-pos, data-oid, data-session, data-at = the newest beat the server took
//   [data-role=latency-last]    data-ms = ack time of the last frame; [data-role=latency-median] the same, median
//   [data-role=sheet]           the paper of the heart line
//   [data-role=line]            svg of the heart line: [data-beat] per beat, data-answer = "" | acked | rejected
//   [data-role=history]         list, newest first: data-kind, data-oid, data-pos, data-from; each holds a button
//                               that opens the content
//   [data-role=fault]           what went wrong for good, hidden otherwise
// Frames of a device: [data-tape=NAME]
//   [data-role=tape]            list, newest first, at most 60 rows: data-direction = out | in, data-kind = beats,
//                               ack, welcome, ..., data-seq, data-bytes, data-ack-ms (out, once answered),
//                               data-flag = the reward flag it came or went with, if any
// History packs: [data-role=packs], hidden unless packs leave the gateway; data-state = closed (nothing is followed) | open |
//                               away | refused
//   [data-role=packs-list]      list, newest first, at most 40: data-region, data-users, data-bytes; hidden while it is empty
//   [data-role=packs-none]      shown instead of an empty list; [data-role=packs-fault] what is wrong, hidden otherwise
// Rewards: [data-role=rewards]
//   [data-role=today]           data-day = the gateway's day, data-zone = in this zone ("" until it is known)
//   [data-role=to-midnight]     button: moves the rewards' clock to the next midnight; hidden where demo.clock is off
//   [data-role=replay]          button: the consumer reads the log again from its start
//   [data-role=points]          data-count = points of the chosen user; [data-role=points-all] the same, of all users
//   [data-role=events-counted], events-again     data-count = events read since the page was loaded, and credited, or
//                               known already; events-offset: data-count = up to where the log was read
//   [data-role=events]          list, newest first, at most 100 rows: data-offset, data-id, data-rule, data-mid, data-day,
//                               data-fresh = true | false: credited now, or before
//   [data-role=fault]           what went wrong, hidden otherwise
// Receivers: [data-role=receivers], hidden where the gateway cannot deliver to itself; data-subscribed = true | false
//   [data-role=subscribe]       button: both receivers subscribe; [data-role=unsubscribe] both go, with their queues
//   [data-role=send]            button while they are subscribed: twenty rewards are earned; aria-disabled meanwhile
//   [data-receiver=receiver], [data-receiver=neighbour]   data-state = active | failing | paused | disabled,
//                               data-depth = events in its queue, data-received = events confirmed since the gateway's
//                               start, data-behaviour = healthy | slow | broken
//   [data-role=healthy], slow, broken     buttons of the first: how it answers; aria-pressed
//   [data-role=fault]           what went wrong, hidden otherwise
// Views: [data-role=views], hidden where the gateway does not count the videos
//   [data-oid=OID]              of each video: data-total = its views; in its svg a rect per day: data-day, data-views;
//                               [data-role=audience] as on a device
//   [data-role=fault]           what went wrong, hidden otherwise
// Crowd: [data-role=crowd]
//   [data-role=bots]            range input: how many bots there shall be, 0 to 180
//   [data-role=scrub]           button: ten seeks at once from every bot
//   [data-role=late-acks]       button: all clients of the page ask for ack_delay; aria-pressed
//   [data-role=readback]        button: every connected bot reads back what was acked to it
//   [data-role=readback-result] data-asked, data-kept = positions; data-bots = bots that were answered,
//                               data-silent = bots that could not ask; without these before the first time
//   [data-role=ack-chart]       canvas; data-points = dots drawn
//   [data-role=acks-p50], acks-p99, acks-slowest    data-ms; of the last 1,000 acked frames
//   [data-role=acks-count]      data-count = acked frames, of devices and bots
//   [data-role=bots-online], bots-waiting, bots-in-flight, bots-unanswered     data-count, now
//   [data-role=bots-sent], bots-acked, bots-acks, bots-late, bots-rejected, bots-errors, bots-failed, bots-back
//                               data-count since the page was loaded; bots-back also data-lost
//   [data-role=gateway]         data-state = there | away, the gateway's own counters:
//                               gateway-connections, gateway-beats, gateway-written, gateway-covered, gateway-commits,
//                               data-count

import { Crowd } from './crowd.js';
import { Device } from './device.js';
import { Guide } from './guide.js';
import { HistoryPacks } from './history-packs.js';
import { Question } from './question.js';
import { Receivers } from './webhooks/receivers.js';
import { Recovery } from './recovery.js';
import { Rewards } from './rewards.js';
import { Views } from './views/views.js';
import { VisiblePoll } from './visible-poll.js';

const NAMES = { phone: 'Phone', tv: 'TV' };

const part = role => document.querySelector(`[data-role=${role}]`);
const user = part('user');
const question = new Question(part('question'));
const rewards = new Rewards(part('rewards'));
const views = new Views(part('views'));
new Receivers(part('receivers'));
const guide = new Guide(part('guide'));
const packs = new HistoryPacks(part('packs'), part('hood'));
let devices = [];
/** Names of those whose connection is gone; when it is all of them, the gateway is away. */
const lost = new Set();
const crowd = new Crowd(part('crowd'), ackDelay => {
  for (const device of devices) device.ackDelay = ackDelay;
});

function show() {
  for (const device of devices) device.close();
  lost.clear();
  VisiblePoll.away = false;
  part('announce').replaceChildren();
  devices = Object.entries(NAMES).map(([name, title]) => make(name, title));
  const recovery = new Recovery(devices);
  recovery.addEventListener('process', ({ detail }) => {
    showSource(detail);
    packs.leave = detail.packs;
  });
  guide.follow(devices, recovery);
  rewards.user = user.value;
  part('devices').replaceChildren(...devices.map(({ root }) => root));
  part('tapes').replaceChildren(...devices.map(({ tape }) => tape));
}

function make(name, title) {
  // A line each, or what one device says would be lost to what the other says at the same time.
  const line = part('announce').appendChild(document.createElement('p'));
  const announce = text => { line.textContent = `${title}: ${text}`; };
  const device = new Device({ name, title, user: user.value, ackDelay: crowd.ackDelay, announce, question });
  device.addEventListener('acked', ({ detail: { ms } }) => crowd.acked(ms));
  const reached = is => {
    lost[is ? 'delete' : 'add'](name);
    VisiblePoll.away = lost.size === Object.keys(NAMES).length;
  };
  device.addEventListener('lost', () => reached(false));
  device.addEventListener('welcomed', () => reached(true));
  device.addEventListener('heard', ({ detail: { day } }) => {
    rewards.heard(day);
    views.heard(day);
  });
  return device;
}

/** Where the package says that its source is; without that, the link leads to the client's. */
function showSource({ repository }) {
  if (repository) part('source').href = repository;
}

// Kept for a reload, which is one of the things to try here.
user.value = sessionStorage.getItem('heartline-demo/user') ?? user.value;
user.addEventListener('change', () => {
  sessionStorage.setItem('heartline-demo/user', user.value);
  show();
});
show();
