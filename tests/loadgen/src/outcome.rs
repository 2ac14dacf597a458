//! The result of a run, printed as one line of JSON.

use std::collections::BTreeMap;

use serde::Serialize;

use super::latency::{Latencies, Percentiles, Recorded};
use super::load::Load;
use super::message::Readback;
use super::tally::{Counts, Kinds};

/// Counts cover the whole run, warm-up included; rates, latencies and costs cover its measured time.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    pub sockets: u64,
    /// The measured duration.
    pub seconds: f64,
    pub rate_asked: f64,
    pub rate_reached: f64,
    pub intended: u64,
    pub sent: u64,
    pub acked: u64,
    /// Beats sent after their time, since their socket still waited for an ack.
    pub late: u64,
    /// Beats never sent.
    pub unsent: u64,
    /// Beats sent, but not answered.
    pub unanswered: u64,
    pub rejected: Kinds,
    pub errors: Kinds,
    pub closes: Kinds,
    pub connect_retries: Kinds,
    pub reconnects: u64,
    /// Users who were followed by another user.
    pub visits: u64,
    pub resent: u64,
    pub pushes: u64,
    pub rewards: u64,
    /// The time from when a beat was meant to be sent to its ack.
    pub latency_ms: Percentiles,
    /// The time from when a beat was meant to be sent until this client sent it. It is no fault of the server.
    pub client_lag_ms: Percentiles,
    /// By the given names.
    pub processes: BTreeMap<String, Process>,
    pub client: Client,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Readback>,
    /// Latencies by the second for which a beat was meant, warm-up included; if requested.
    #[serde(skip)]
    pub by_second: Vec<Recorded>,
}

/// The processes of one name together; null if one of them did not exist all the time.
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
    /// The growth from before the first socket to after the load, per socket.
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

    /// Acked contents that are missing, or could not be read.
    pub fn missing(&self) -> u64 {
        self.verified.as_ref().map_or(0, |found| found.missing + found.unread)
    }

    /// Beats without an ack, sockets without a server, acks without a record.
    pub fn lost(&self) -> u64 {
        let kinds = [&self.rejected, &self.errors, &self.closes].into_iter().flat_map(|kinds| kinds.values());
        self.unsent + self.unanswered + self.missing() + kinds.sum::<u64>()
    }

    /// Whether the rate was kept, so that the cost per ack is meaningful.
    pub fn kept_up(&self) -> bool {
        self.lost() == 0 && self.rate_reached >= 0.98 * self.rate_asked
    }

    pub fn cpu_us_per_ack(&self, name: &str) -> Option<f64> {
        self.processes.get(name)?.cpu_us_per_ack
    }
}
