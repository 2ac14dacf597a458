//! What a run found: the one line of JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::latency::{Latencies, Percentiles, Recorded};
use super::load::Load;
use super::message::Readback;
use super::tally::{Counts, Kinds};

/// Counts are of the whole run, warm-up included; rates, latencies and costs of its measured time.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub sockets: u64,
    /// Measured.
    pub seconds: f64,
    pub rate_asked: f64,
    pub rate_reached: f64,
    pub intended: u64,
    pub sent: u64,
    pub acked: u64,
    /// Sent after their time, since their socket still waited for an ack.
    pub late: u64,
    /// Never sent.
    pub unsent: u64,
    /// Sent, and not answered.
    pub unanswered: u64,
    pub rejected: Kinds,
    pub errors: Kinds,
    pub closes: Kinds,
    pub connect_retries: Kinds,
    pub reconnects: u64,
    /// Users who gave their place to another.
    pub visits: u64,
    pub resent: u64,
    pub pushes: u64,
    pub rewards: u64,
    /// From the moment a beat was meant to be sent to its ack.
    pub latency_ms: Percentiles,
    /// From the moment a beat was meant to be sent to when this client came to it: no server can be blamed for that.
    pub client_lag_ms: Percentiles,
    /// By the names that were given.
    pub processes: BTreeMap<String, Process>,
    pub client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Readback>,
    /// Latencies by the second of the load for which a beat was meant, warm-up included; if asked for.
    #[serde(skip)]
    pub by_second: Vec<Recorded>,
}

/// The processes of one name together; what one of them was not there for is null.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    pub pids: Vec<u32>,
    /// User and system time of all threads.
    pub cpu_us_per_ack: Option<f64>,
    pub cpu_cores: Option<f64>,
    /// Bytes: before the first socket, with all of them, after the load.
    pub rss_before: Option<u64>,
    pub rss_connected: Option<u64>,
    pub rss: Option<u64>,
    /// What it grew by from before the first socket to after the load, for each socket.
    pub rss_per_socket: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct Client {
    pub processes: usize,
    pub threads: u32,
    pub cpu_us_per_ack: Option<f64>,
    pub cpu_cores: f64,
    pub rss: u64,
}

impl Outcome {
    pub fn new(
        load: &Load,
        seconds: f64,
        counts: &Counts,
        (latency, lag): (Latencies, Latencies),
        processes: BTreeMap<String, Process>,
        client: Client,
        verified: Option<Readback>,
    ) -> Self {
        Outcome {
            sockets: load.sockets,
            seconds,
            rate_asked: load.rate,
            rate_reached: counts.acked_measured as f64 / seconds,
            intended: counts.intended,
            sent: counts.sent,
            acked: counts.acked,
            late: counts.late,
            unsent: counts.intended - counts.sent,
            unanswered: counts.unanswered,
            rejected: counts.rejected.clone(),
            errors: counts.errors.clone(),
            closes: counts.closes.clone(),
            connect_retries: counts.connect_retries.clone(),
            reconnects: counts.reconnects,
            visits: counts.visits,
            resent: counts.resent,
            pushes: counts.pushes,
            rewards: counts.rewards,
            latency_ms: latency.percentiles(),
            client_lag_ms: lag.percentiles(),
            processes,
            client,
            verified,
            by_second: Vec::new(),
        }
    }

    /// Acked and no longer found, or unknown.
    pub fn missing(&self) -> u64 {
        self.verified.as_ref().map_or(0, |found| found.missing + found.unread)
    }

    /// Beats without an ack, sockets without a server, acks without a record.
    pub fn lost(&self) -> u64 {
        let kinds = [&self.rejected, &self.errors, &self.closes].into_iter().flat_map(|kinds| kinds.values());
        self.unsent + self.unanswered + self.missing() + kinds.sum::<u64>()
    }

    /// Whether the rate was kept, so that costs for each ack mean something.
    pub fn kept_up(&self) -> bool {
        self.lost() == 0 && self.rate_reached >= 0.98 * self.rate_asked
    }

    pub fn cpu_us_per_ack(&self, name: &str) -> Option<f64> {
        self.processes.get(name)?.cpu_us_per_ack
    }
}
