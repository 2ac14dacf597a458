//! How much a client may send.

use std::time::{Duration, Instant};

/// So many at once, then so many a second; the same for all clients.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    each: Duration,
    burst: Duration,
}

/// What one client has used of its [`Pace`]: a token bucket, kept as the moment at which it would be full again.
#[derive(Debug)]
pub struct Rate {
    /// When all so far is paid for.
    paid: Instant,
}

impl Pace {
    pub fn new(per_second: u32, burst: u32) -> Self {
        let each = Duration::from_secs(1) / per_second.max(1);
        Pace { each, burst: each * burst }
    }
}

impl Rate {
    pub fn new(now: Instant) -> Self {
        Rate { paid: now }
    }

    /// Counts so many more. False: too many.
    pub fn allow(&mut self, count: u32, pace: &Pace, now: Instant) -> bool {
        self.paid = self.paid.max(now) + pace.each * count;
        self.paid <= now + pace.burst
    }

    /// The server did not read for so long; what gathered meanwhile is not the client's haste.
    pub fn stood_still(&mut self, pause: Duration) {
        self.paid = self.paid.checked_sub(pause).unwrap_or(self.paid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_then_so_many_a_second() {
        let (start, pace) = (Instant::now(), Pace::new(20, 100));
        let mut rate = Rate::new(start);
        assert_eq!((0..200).filter(|_| rate.allow(1, &pace, start)).count(), 100);
        let mut rate = Rate::new(start);
        let steady = (0..2_000).all(|i| rate.allow(1, &pace, start + Duration::from_millis(50) * i));
        assert!(steady);
    }
}
