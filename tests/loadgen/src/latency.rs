//! Latencies in a histogram, and their text form between processes.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Longer latencies count as this, microseconds.
const LONGEST: u64 = 600_000_000;

/// Latencies in microseconds, to three digits.
pub struct Latencies(Histogram<u64>);

/// Recorded latencies: (microseconds, count).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Recorded(Vec<(u64, u64)>);

impl Recorded {
    /// Adds one latency, not yet merged with equal ones.
    pub fn note(&mut self, nanos: u64) {
        self.0.push(((nanos / 1000).max(1), 1));
    }

    pub fn append(&mut self, mut other: Recorded) {
        self.0.append(&mut other.0);
    }
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    #[serde(rename = "p99.9")]
    pub p999: f64,
    pub max: f64,
}

impl Latencies {
    pub fn new() -> Self {
        Latencies(Histogram::new_with_bounds(1, LONGEST, 3).expect("bounds that fit together"))
    }

    pub fn record(&mut self, nanos: u64) {
        self.0.saturating_record((nanos / 1000).max(1));
    }

    pub fn add(&mut self, recorded: &Recorded) {
        for (micros, count) in &recorded.0 {
            self.0.saturating_record_n(*micros, *count);
        }
    }

    /// Returns the recorded latencies, and empties the histogram.
    pub fn take(&mut self) -> Recorded {
        let recorded = self.0.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        self.0.reset();
        Recorded(recorded)
    }

    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.0.value_at_quantile(quantile) as f64 / 1000.0;
        Percentiles { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: self.0.max() as f64 / 1000.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_of_two_crowds_are_merged() {
        let (mut one, mut other, mut all) = (Latencies::new(), Latencies::new(), Latencies::new());
        for micros in 1..=50_000 {
            one.record(micros * 1000);
            other.record((50_000 + micros) * 1000);
        }
        all.add(&one.take());
        all.add(&other.take());
        let found = all.percentiles();
        for (found, expected) in
            [(found.p50, 50.0), (found.p90, 90.0), (found.p99, 99.0), (found.p999, 99.9), (found.max, 100.0)]
        {
            assert!((found - expected).abs() <= expected * 0.001, "{found} {expected}");
        }
        assert!(one.take().0.is_empty());
    }

    #[test]
    fn an_endless_latency_is_recorded_at_the_maximum() {
        let mut latencies = Latencies::new();
        latencies.record(u64::MAX);
        assert!(latencies.percentiles().max >= 600_000.0);
    }
}
