//! The latencies and losses of the honest crowd in one period.

use std::time::Instant;

use serde::Serialize;

use super::super::latency::{Latencies, Percentiles, Recorded};
use super::newcomers::{Arrivals, Newcomers};

#[derive(Debug, Serialize)]
pub struct Spell {
    /// Whole seconds, by the times at which beats were meant to be sent.
    pub seconds: usize,
    pub latency_ms: Percentiles,
    pub newcomers: Arrivals,
}

/// The periods before, under and after the attack.
#[derive(Debug, Serialize)]
pub struct Spells {
    pub before: Spell,
    pub under: Spell,
    pub after: Spell,
}

impl Spell {
    /// `seconds`: latencies by the second since `start`. Seconds that are only partly in the period count, too.
    pub fn new(seconds: &[Recorded], start: Instant, newcomers: &Newcomers, from: Instant, to: Instant) -> Self {
        let first = (from - start).as_secs() as usize;
        let end = (to - start).as_secs_f64().ceil() as usize;
        let mut latencies = Latencies::new();
        let of = seconds.iter().take(end).skip(first);
        let seconds = of.inspect(|second| latencies.add(second)).count();
        Spell { seconds, latency_ms: latencies.percentiles(), newcomers: newcomers.between(from, to) }
    }
}
