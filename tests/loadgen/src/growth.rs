//! Compares the cost of a socket in a large crowd with that in a small crowd.

use std::fmt;

use serde::Serialize;

use super::load::Load;
use super::outcome::Outcome;

/// The most that a socket of the larger crowd may cost, relative to the smaller crowd. Less is fine.
const RATIO_MAX: f64 = 1.2;

#[derive(Serialize)]
pub struct Growth {
    pub passed: bool,
    few: Cost,
    many: Cost,
    /// `None`: not measured.
    rss_ratio: Option<f64>,
    cpu_ratio: Option<f64>,
    runs: [Outcome; 2],
}

/// The cost of the servers per socket.
#[derive(Clone, Copy, Debug, Serialize)]
struct Cost {
    sockets: u64,
    /// Beats of a socket per minute.
    beats_a_minute: f64,
    lost: u64,
    rss_bytes: Option<f64>,
    /// Microseconds of CPU per second.
    cpu_us: Option<f64>,
}

/// The same load on this many sockets, at the same rate per socket.
pub fn smaller(load: &Load, sockets: u64) -> Load {
    let rate = load.rate * sockets as f64 / load.sockets as f64;
    Load { sockets, rate, ..load.clone() }
}

impl Growth {
    pub fn new(few: Outcome, many: Outcome) -> Self {
        let runs = [few, many];
        let [few, many] = [Cost::of(&runs[0]), Cost::of(&runs[1])];
        let rss_ratio = ratio(many.rss_bytes, few.rss_bytes);
        let cpu_ratio = ratio(many.cpu_us, few.cpu_us);
        let good = |ratio: Option<f64>| ratio.is_some_and(|ratio| ratio <= RATIO_MAX);
        let passed = few.lost + many.lost == 0 && good(rss_ratio) && good(cpu_ratio);
        Growth { passed, few, many, rss_ratio, cpu_ratio, runs }
    }
}

impl Cost {
    fn of(run: &Outcome) -> Self {
        let sockets = run.sockets as f64;
        let servers = || run.processes.values();
        let rss = servers().map(|server| server.rss_per_socket).sum::<Option<f64>>();
        let cores = servers().map(|server| server.cpu_cores).sum::<Option<f64>>();
        Cost {
            sockets: run.sockets,
            beats_a_minute: run.rate_asked / sockets * 60.0,
            lost: run.lost(),
            rss_bytes: rss.filter(|_| !run.processes.is_empty()),
            cpu_us: cores.filter(|_| !run.processes.is_empty()).map(|cores| cores * 1e6 / sockets),
        }
    }
}

fn ratio(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one? / other?)
}

/// The comparison as text.
impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let or_dash = |number: Option<f64>, digits: usize| match number {
            Some(number) => format!("{number:.digits$}"),
            None => "-".to_owned(),
        };
        writeln!(
            f,
            "{:>10}{:>14}{:>8}{:>14}{:>18}",
            "sockets", "beats/minute", "lost", "RSS/socket", "CPU us/socket/s"
        )?;
        for Cost { sockets, beats_a_minute, lost, rss_bytes, cpu_us } in [self.few, self.many] {
            let (rss, cpu) = (or_dash(rss_bytes, 0), or_dash(cpu_us, 2));
            writeln!(f, "{sockets:>10}{beats_a_minute:>14.2}{lost:>8}{rss:>14}{cpu:>18}")?;
        }
        let (rss, cpu) = (or_dash(self.rss_ratio, 2), or_dash(self.cpu_ratio, 2));
        writeln!(f, "{:>10}{:>14}{:>8}{rss:>14}{cpu:>18}  at most {RATIO_MAX}", "ratio", "", "")
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::Options;

    #[test]
    fn a_smaller_crowd_keeps_the_beat_rate_of_each_socket() {
        let load = Options::parse_from(["loadgen", "--sockets", "200000", "--rate", "3333"]).load;
        let few = smaller(&load, 10_000);
        assert_eq!((few.sockets, few.rate.round()), (10_000, 167.0));
    }

    #[test]
    fn a_missing_measurement_gives_no_ratio() {
        assert_eq!(ratio(Some(3.0), Some(2.0)), Some(1.5));
        assert_eq!(ratio(None, Some(2.0)), None);
    }
}
