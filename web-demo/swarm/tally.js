/** What a bot, a worker or the whole swarm has to say of itself. */

/** An ack that took longer is counted as late, be it that the server was asked for that or that it was slow. */
export const LATE_MS = 1_000;

export function tally() {
  return {
    // Now: bots; beats sent and not acked; beats that are the newest of their session and not acked, sent or not.
    bots: 0, online: 0, waiting: 0, inFlight: 0, unanswered: 0,
    // Since the page was loaded: beats; frames that acked something; sockets lost, come back, and not come about.
    sent: 0, acked: 0, rejected: 0, late: 0, acks: 0, lost: 0, back: 0, failed: 0, errors: 0,
    /** The longest of the pauses before another attempt, in milliseconds. */
    delay: 0,
  };
}

/** Adds a part to a sum, and returns the sum. */
export function add(sum, part) {
  const delay = Math.max(sum.delay, part.delay);
  for (const [name, value] of Object.entries(part)) sum[name] += value;
  return Object.assign(sum, { delay });
}
