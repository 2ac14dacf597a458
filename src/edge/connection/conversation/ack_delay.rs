//! How late steady beats may be acked.

use std::time::Duration;

/// Whole milliseconds, in half of what a duration takes: each idle connection keeps one.
#[derive(Clone, Copy)]
pub struct AckDelay(u32);

impl AckDelay {
    /// As late as asked (milliseconds), and as `max` allows.
    pub fn capped(asked: u64, max: Duration) -> Self {
        AckDelay(u128::from(asked).min(max.as_millis()).try_into().unwrap_or(u32::MAX))
    }

    pub fn get(self) -> Duration {
        Duration::from_millis(self.0.into())
    }

    pub fn is_zero(self) -> bool {
        self.0 == 0
    }
}
