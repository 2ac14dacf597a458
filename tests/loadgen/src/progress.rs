//! Progress: a line a second on standard error.

use std::collections::BTreeMap;
use std::time::Duration;

use super::latency::Latencies;
use super::tally::Second;

pub struct Progress {
    sockets: u64,
    crowds: u32,
    /// Seconds that not all crowds have reported yet.
    seconds: BTreeMap<u64, Gathered>,
}

struct Gathered {
    crowds: u32,
    sum: Second,
    latency: Latencies,
}

impl Progress {
    pub fn new(sockets: u64, crowds: u32) -> Self {
        Progress { sockets, crowds, seconds: BTreeMap::new() }
    }

    pub fn connecting(&self, second: u64, connected: u64) {
        eprintln!("{second:>4} s  {connected} of {} sockets connected", self.sockets);
    }

    pub fn connected(&self, took: Duration) {
        eprintln!("{} sockets connected and welcomed in {:.1} s", self.sockets, took.as_secs_f64());
    }

    /// Prints a second after all crowds have reported it.
    pub fn second(&mut self, number: u64, second: &Second) {
        let gathered = self.seconds.entry(number).or_insert_with(|| Gathered {
            crowds: 0,
            sum: Second::default(),
            latency: Latencies::new(),
        });
        gathered.crowds += 1;
        gathered.sum.sent += second.sent;
        gathered.sum.acked += second.acked;
        gathered.sum.late += second.late;
        gathered.sum.faults += second.faults;
        gathered.latency.add(&second.latency);
        if gathered.crowds < self.crowds {
            return;
        }
        if let Some(Gathered { sum, latency, .. }) = self.seconds.remove(&number) {
            let took = latency.percentiles();
            eprintln!(
                "{number:>4} s  {} sent, {} acked, {} late, {} faults; p50 {:.1} ms, p99 {:.1} ms, max {:.1} ms",
                sum.sent, sum.acked, sum.late, sum.faults, took.p50, took.p99, took.max
            );
        }
    }
}
