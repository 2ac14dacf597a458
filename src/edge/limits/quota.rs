//! The rate at which a client may send.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// A burst, and a rate per second; the same for all clients.
///
/// The server allows one second's worth more than it tells clients. Networks and busy threads delay frames, so frames
/// sent within the limits may arrive closer together. Clients also do not count frame headers, or the pongs that their
/// library sends.
#[derive(Clone, Copy, Debug)]
pub struct Quota {
    /// Nanoseconds, as all here.
    each: u64,
    /// With what is let through beyond it.
    burst: u64,
}

/// One client's use of its [`Quota`]: a token bucket, kept as the moment at which it would be full again.
///
/// Every idle connection keeps three of these, so they count nanoseconds since the first of them all.
#[derive(Debug)]
pub struct Rate {
    /// When everything counted so far is paid for.
    paid: u64,
    /// The sending time of input that may still be unread: the time while the server did not read, less the idle time
    /// since then.
    gathered: u64,
}

impl Quota {
    pub fn new(per_second: u32, burst: u32) -> Self {
        let per_second = u64::from(per_second.max(1));
        let each = 1_000_000_000 / per_second;
        Quota { each, burst: each * (u64::from(burst) + per_second) }
    }
}

impl Rate {
    pub fn new(now: Instant) -> Self {
        Rate { paid: nanos(now), gathered: 0 }
    }

    /// Counts `count` more. False: that exceeds the quota.
    pub fn allow(&mut self, count: u32, quota: &Quota, now: Instant) -> bool {
        let now = nanos(now);
        self.settle(now);
        self.paid += quota.each * u64::from(count);
        let full = now + quota.burst;
        // Input beyond the quota may have gathered.
        let covered = self.paid.saturating_sub(full).min(self.gathered);
        self.gathered -= covered;
        self.paid -= covered;
        self.paid <= full
    }

    /// The server did not read for `pause` until now: input that gathered meanwhile does not count as sent at once.
    pub fn stood_still(&mut self, pause: Duration, now: Instant) {
        let pause = span(pause);
        self.settle(nanos(now).saturating_sub(pause));
        self.paid += pause;
        self.gathered += pause;
    }

    /// The client has not used its time since `paid`.
    fn settle(&mut self, now: u64) {
        let unused = now.saturating_sub(self.paid);
        self.paid += unused;
        self.gathered = self.gathered.saturating_sub(unused);
    }
}

fn nanos(at: Instant) -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    span(at.saturating_duration_since(*FIRST))
}

/// In nanoseconds; 584 years at most.
fn span(duration: Duration) -> u64 {
    duration.as_nanos().try_into().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let (start, quota) = (Instant::now(), Quota::new(20, 100));
        let mut rate = Rate::new(start);
        assert_eq!((0..200).filter(|_| rate.allow(1, &quota, start)).count(), 100 + 20);
        let mut rate = Rate::new(start);
        let steady = (0..2_000).all(|i| rate.allow(1, &quota, start + Duration::from_millis(50) * i));
        assert!(steady);
    }

    #[test]
    fn frames_delayed_by_less_than_a_second_are_within_the_limits() {
        let (start, quota) = (Instant::now(), Quota::new(20, 100));
        // A burst, then twenty a second; the burst arrives late, what follows it arrives at once.
        let mut rate = Rate::new(start);
        let late = start + Duration::from_millis(900);
        assert!((0..100).all(|_| rate.allow(1, &quota, late)));
        let sent = |number: u32| start + Duration::from_millis(50) * number;
        assert!((1..1_000).all(|number| rate.allow(1, &quota, sent(number).max(late))));
        // The same with bytes, whose frames have heads.
        let (quota, mut rate) = (Quota::new(262_144, 4_194_304), Rate::new(start));
        assert!((0..32).all(|_| rate.allow(131_072 + 14, &quota, start)));
    }

    #[test]
    fn frames_that_gathered_while_reading_was_paused_are_allowed_at_once() {
        let (start, quota) = (Instant::now(), Quota::new(20, 100));
        let mut rate = Rate::new(start);
        let before = start + Duration::from_secs(3_600);
        let later = before + Duration::from_secs(60);
        rate.stood_still(later - before, later);
        assert_eq!((0..2_000).filter(|_| rate.allow(1, &quota, later)).count(), 60 * 20 + 100 + 20);
        // A client that was merely silent has gathered nothing.
        assert_eq!((0..200).filter(|_| rate.allow(1, &quota, later + Duration::from_secs(60))).count(), 100 + 20);
    }

    #[test]
    fn gathered_frames_may_come_between_new_ones() {
        let (start, quota) = (Instant::now(), Quota::new(20, 100));
        let mut rate = Rate::new(start);
        let later = start + Duration::from_secs(60);
        rate.stood_still(later - start, later);
        // Twenty a second all the time; those of the pause come within four seconds of it, between the others.
        let came = |number: u32| later + Duration::from_secs(4) * number / 1_280;
        assert!((0..1_280).all(|number| rate.allow(1, &quota, came(number))));
    }

    #[test]
    fn the_allowance_for_gathered_frames_expires() {
        let (start, quota) = (Instant::now(), Quota::new(20, 100));
        let mut rate = Rate::new(start);
        let mut now = start;
        for _ in 0..10_000 {
            now += Duration::from_millis(10);
            rate.stood_still(Duration::from_millis(10), now);
            now += Duration::from_millis(100);
            assert!(rate.allow(1, &quota, now));
        }
        assert_eq!((0..200).filter(|_| rate.allow(1, &quota, now)).count(), 100 + 20 - 1);
    }
}
