//! Whether the live numbers can be kept.

use std::time::Duration;

use super::Config;
use super::checks::{Checks, LONGEST};

/// Each stream is a connection.
const STREAMS_LIMIT: usize = 100_000;
/// They are copied every second.
const TAIL_LIMIT: usize = 100_000;
/// An answer may have 100 contents, and half of the table may be free.
const TOP_MIN: usize = 200;
/// Every second looks at each of them.
const TOP_LIMIT: usize = 1_000_000;

impl Checks<'_> {
    pub(super) fn live(&mut self, config: &Config) {
        let live = &config.live;
        let (interval, hold) = (config.socket.heartbeat_interval, config.store.steady_hold);
        let outlives = live.timeout == Duration::ZERO || live.timeout > interval.saturating_add(hold);
        self.require(outlives, "live.timeout", || {
            format!(
                "{:?} must be longer than socket.heartbeat_interval ({interval:?}) plus store.steady_hold ({hold:?}), or 0s: \
                 a session would end between two beats",
                live.timeout
            )
        });
        self.require(live.timeout <= LONGEST, "live.timeout", || "must be at most 3650d".to_owned());
        for (setting, number, least, most) in [
            ("live.streams", live.streams, 1, STREAMS_LIMIT),
            ("live.tail", live.tail, 1, TAIL_LIMIT),
            ("live.top", live.top, TOP_MIN, TOP_LIMIT),
        ] {
            self.require((least..=most).contains(&number), setting, || format!("is {number}; set {least} to {most}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{config, good};
    use super::*;

    fn refused(file: &str, setting: &str, word: &str) {
        let problems = config(file, &[]).expect_err(file);
        assert_eq!(problems.len(), 1, "{file}: {problems:?}");
        assert!(problems[0].contains(setting) && problems[0].contains(word), "{file}: {problems:?}");
    }

    #[test]
    fn a_timeout_outlives_the_interval_of_beats() {
        assert_eq!(good("", &[]).live.timeout, Duration::ZERO);
        good("[live]\ntimeout = \"6s\"", &[]);
        refused("[live]\ntimeout = \"5s\"", "live.timeout", "socket.heartbeat_interval");
        refused("[live]\ntimeout = \"9s\"\n[store]\nsteady_hold = \"4s\"", "live.timeout", "store.steady_hold");
        refused("[live]\ntimeout = \"3651d\"", "live.timeout", "3650d");
    }

    #[test]
    fn sizes_have_bounds() {
        for (setting, wrong) in [("streams", [0, 100_001]), ("tail", [0, 100_001]), ("top", [199, 1_000_001])] {
            for number in wrong {
                refused(&format!("[live]\n{setting} = {number}"), &format!("live.{setting}"), &number.to_string());
            }
        }
    }
}
