//! Which events are followed at present, as commits look at it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::notices::Followed;

const POSITIONS: u8 = 1;
const FORGOTTEN: u8 = 2;

/// The followed events, as last found. A finding holds for a while only: unless it is renewed, everything counts as
/// followed, since a notice too many does no harm.
#[derive(Debug)]
pub struct FollowedNow {
    followed: AtomicU8,
    epoch: Instant,
    /// Milliseconds after the epoch.
    until: AtomicU64,
}

/// Nothing is followed, for good.
impl Default for FollowedNow {
    fn default() -> Self {
        FollowedNow { followed: AtomicU8::new(0), epoch: Instant::now(), until: AtomicU64::new(u64::MAX) }
    }
}

impl FollowedNow {
    /// Found at that moment, and to be believed for so long.
    pub fn set(&self, followed: Followed, found: Instant, lasts: Duration) {
        let until = found.saturating_duration_since(self.epoch) + lasts;
        let bits = u8::from(followed.positions) * POSITIONS + u8::from(followed.forgotten) * FORGOTTEN;
        self.followed.store(bits, Ordering::Relaxed);
        self.until.store(until.as_millis() as u64, Ordering::Relaxed);
    }

    pub fn get(&self) -> Followed {
        let until = self.until.load(Ordering::Relaxed);
        if until != u64::MAX && self.epoch.elapsed().as_millis() as u64 >= until {
            return Followed::ALL;
        }
        let bits = self.followed.load(Ordering::Relaxed);
        Followed { positions: bits & POSITIONS != 0, forgotten: bits & FORGOTTEN != 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_found_anew_counts_as_followed() {
        let now = FollowedNow::default();
        assert_eq!(now.get(), Followed::NONE);
        for followed in [Followed { positions: true, forgotten: false }, Followed { positions: false, forgotten: true }]
        {
            now.set(followed, Instant::now(), Duration::from_secs(60));
            assert_eq!(now.get(), followed);
        }
        now.set(Followed::NONE, Instant::now(), Duration::ZERO);
        assert_eq!(now.get(), Followed::ALL);
    }
}
