//! How much a client may send.

use std::time::{Duration, Instant};

/// A token bucket, kept as the moment at which it would be empty again: `burst` at once, then so many a second.
#[derive(Debug)]
pub struct Rate {
    each: Duration,
    burst: Duration,
    /// When all so far is paid for.
    paid: Instant,
}

impl Rate {
    pub fn new(per_second: u32, burst: u32, now: Instant) -> Self {
        let each = Duration::from_secs(1) / per_second.max(1);
        Rate { each, burst: each * burst, paid: now }
    }

    /// Counts so many more. False: too many.
    pub fn allow(&mut self, count: u32, now: Instant) -> bool {
        self.paid = self.paid.max(now) + self.each * count;
        self.paid <= now + self.burst
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
        let start = Instant::now();
        let mut rate = Rate::new(20, 100, start);
        assert_eq!((0..200).filter(|_| rate.allow(1, start)).count(), 100);
        let mut rate = Rate::new(20, 100, start);
        let steady = (0..2_000).all(|i| rate.allow(1, start + Duration::from_millis(50) * i));
        assert!(steady);
    }
}
