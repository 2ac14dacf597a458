//! The source of time of a [`Clock`](super::clock::Clock).

use std::fmt::Debug;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

/// Readings of clocks. A simulation makes its own.
pub trait TimeSource: Debug + Send + Sync {
    /// The wall clock, milliseconds since 1970.
    fn wall(&self) -> u64;

    /// The monotonic clock, which may stand still while the machine is suspended.
    fn instant(&self) -> Instant;

    /// Monotonic time since the machine was booted, suspensions included.
    fn since_boot(&self) -> Duration;
}

/// The clocks of this machine.
#[derive(Debug)]
pub struct MachineTime;

impl TimeSource for MachineTime {
    fn wall(&self) -> u64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.map_or(0, |since| since.as_millis() as u64)
    }

    fn instant(&self) -> Instant {
        Instant::now()
    }

    /// std's monotonic clock stands still while the machine is suspended.
    fn since_boot(&self) -> Duration {
        Duration::try_from(clock_gettime(ClockId::Boottime)).unwrap_or_default()
    }
}
