/** Many rewards at once: ten users who watch a video each, just long enough to earn both rewards of the demo's rules. */

import { demoToken } from '../demo-token.js';
import { Heartline } from '../client/heartline.js';
import { Film } from '../swarm/film.js';

const USERS = 10;
const REWARDS_EACH = 2;
/** Far from the users that the page shows by name, and from the bots. */
const FIRST_USER = 2_000_000_000_000;
const KIND = 1;
const FIRST_FILM = 1_000;
const FILM_SECONDS = 60;
/** Rewards take five seconds of playback. */
const PATIENCE_MS = 30_000;

/** How many `sendRewards` sends. */
export const REWARDS = USERS * REWARDS_EACH;

/** Resolves once all of them are earned. */
export async function sendRewards() {
  const first = FIRST_USER + crypto.getRandomValues(new Uint32Array(1))[0] * USERS;
  await Promise.all(Array.from({ length: USERS }, (_, index) => watch(String(first + index), String(FIRST_FILM + index))));
}

async function watch(user, oid) {
  const getToken = () => demoToken(user);
  const client = new Heartline({ user, getToken, device: 'viewer', storage: null, fallback: false });
  const film = new Film(FILM_SECONDS, 0);
  let timer;
  try {
    await new Promise((resolve, reject) => {
      let earned = 0;
      client.addEventListener('reward', () => ++earned === REWARDS_EACH && resolve());
      client.addEventListener('fault', event => {
        event.preventDefault();
        reject(new Error(event.detail.message));
      });
      timer = setTimeout(() => reject(new Error(`user ${user} has earned ${earned} rewards`)), PATIENCE_MS);
      client.connect();
      client.play(film, { kind: KIND, oid });
      film.play();
    });
  } finally {
    clearTimeout(timer);
    film.pause();
    client.close();
  }
}
