//! Settings of the live numbers. Each is explained, with its default, in `deploy/heartline.toml`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveConfig {
    /// 0 = derived from the interval of heartbeats.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
    /// Streams that are open at a time.
    pub streams: usize,
    /// Visits that are kept.
    pub tail: usize,
    /// Contents that are ranked.
    pub top: usize,
    /// A country file; empty = none.
    pub geoip: PathBuf,
    /// Whether the widget is served.
    pub widget: bool,
    /// The kinds that the widget counts; empty = all.
    pub widget_kinds: Vec<u16>,
    /// Contents with fewer users are left out of the widget.
    pub widget_min: u32,
    /// Requests of one address per second.
    pub widget_per_second: u32,
}

impl LiveConfig {
    pub fn geoip(&self) -> Option<&Path> {
        Some(self.geoip.as_path()).filter(|path| !path.as_os_str().is_empty())
    }

    /// How long a session is live after its newest beat.
    pub fn session_timeout(&self, heartbeat_interval: Duration, steady_hold: Duration) -> Duration {
        match self.timeout.is_zero() {
            true => heartbeat_interval.saturating_mul(5) / 2 + steady_hold,
            false => self.timeout,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_timeout_a_session_outlives_two_lost_beats() {
        let of = |timeout| LiveConfig {
            timeout,
            streams: 1,
            tail: 1,
            top: 1,
            geoip: PathBuf::new(),
            widget: false,
            widget_kinds: Vec::new(),
            widget_min: 1,
            widget_per_second: 1,
        };
        let seconds = Duration::from_secs;
        assert_eq!(of(seconds(0)).session_timeout(seconds(5), seconds(15)), Duration::from_millis(27_500));
        assert_eq!(of(seconds(7)).session_timeout(seconds(5), seconds(15)), seconds(7));
    }
}
