//! Checks of the settings of the live numbers.

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

/// More makes no difference.
const WIDGET_LIMIT: usize = 1_000_000;

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
            ("live.widget_min", live.widget_min as usize, 1, WIDGET_LIMIT),
            ("live.widget_per_second", live.widget_per_second as usize, 1, WIDGET_LIMIT),
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
    fn the_kinds_of_the_widget_are_a_list_of_kinds() {
        let kinds = |config: Config| config.live.widget_kinds;
        assert!(kinds(good("", &[])).is_empty());
        assert_eq!(kinds(good("[live]\nwidget_kinds = [1, 65535]", &[])), [1, 65_535]);
        for plain in ["2, 3", "[2,3]", "2,3"] {
            assert_eq!(kinds(good("", &[("HEARTLINE__LIVE__WIDGET_KINDS", plain)])), [2, 3], "{plain}");
        }
        assert!(kinds(good("", &[("HEARTLINE__LIVE__WIDGET_KINDS", "")])).is_empty());
        refused("[live]\nwidget_kinds = [65536]", "live.widget_kinds[0]", "65535");
        for wrong in ["[-1]", "[\"1\"]", "1", "[1.5]"] {
            refused(&format!("[live]\nwidget_kinds = {wrong}"), "live.widget_kinds", "a list of whole numbers");
        }
    }

    #[test]
    fn sizes_have_bounds() {
        for (setting, wrong) in [
            ("streams", [0, 100_001]),
            ("tail", [0, 100_001]),
            ("top", [199, 1_000_001]),
            ("widget_min", [0, 1_000_001]),
            ("widget_per_second", [0, 1_000_001]),
        ] {
            for number in wrong {
                refused(&format!("[live]\n{setting} = {number}"), &format!("live.{setting}"), &number.to_string());
            }
        }
    }
}
