//! How long answers took.

use std::fmt;
use std::time::Duration;

#[derive(Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn join(&mut self, other: Times) {
        self.0.extend(other.0);
    }

    fn percentile(&self, share: f64) -> f64 {
        let at = (self.0.len().saturating_sub(1) as f64 * share) as usize;
        self.0.get(at).map_or(0.0, |time| time.as_secs_f64() * 1_000.0)
    }

    pub fn sorted(mut self) -> Self {
        self.0.sort_unstable();
        self
    }
}

impl fmt::Display for Times {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(|share| self.percentile(share));
        write!(out, "p50 {p50:.2} ms, p99 {p99:.2} ms, slowest {most:.2} ms")
    }
}
