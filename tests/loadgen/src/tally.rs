//! Counters of a crowd, and their sum over all crowds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::latency::{Latencies, Recorded};

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Counts by kind, reason or code.
pub type Kinds = BTreeMap<String, u64>;

/// Counts over the whole run, warm-up included, unless stated otherwise.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Counts {
    pub intended: u64,
    pub sent: u64,
    pub acked: u64,
    /// Acks that came within the measured time.
    pub acked_measured: u64,
    /// Beats that became due while their socket still waited. They are sent later, and their latency counts from their
    /// time.
    pub late: u64,
    /// Sent beats that were neither acked, rejected nor refused by an error until the end of the wait for them.
    pub unanswered: u64,
    /// Beats that were sent again after a reconnect.
    pub resent: u64,
    pub reconnects: u64,
    /// Users who were followed by another user under load.
    pub visits: u64,
    pub pushes: u64,
    pub rewards: u64,
    /// Failed attempts to connect before the load that were followed by another.
    pub connect_retries: Kinds,
    pub rejected: Kinds,
    /// Error frames by code, and errors of sockets.
    pub errors: Kinds,
    pub closes: Kinds,
}

/// One second of one crowd.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Second {
    pub sent: u64,
    pub acked: u64,
    pub late: u64,
    pub faults: u64,
    pub latency: Recorded,
}

/// The counters of one crowd.
pub struct Tally {
    pub counts: Counts,
    /// Latencies of the beats meant for the measured time.
    pub latency: Latencies,
    /// The delays of this client: from when a beat was due until it was sent, unless its socket had to wait.
    pub lag: Latencies,
    second: Second,
    second_latency: Latencies,
    /// Latencies by the second for which a beat was meant.
    seconds: Option<Vec<Recorded>>,
}

impl Tally {
    pub fn new(by_second: bool) -> Self {
        Tally {
            counts: Counts::default(),
            latency: Latencies::new(),
            lag: Latencies::new(),
            second: Second::default(),
            second_latency: Latencies::new(),
            seconds: by_second.then(Vec::new),
        }
    }

    pub fn sent(&mut self) {
        self.counts.sent += 1;
        self.second.sent += 1;
    }

    pub fn late(&mut self) {
        self.counts.late += 1;
        self.second.late += 1;
    }

    /// Counts an ack. Times are nanoseconds of the load. `measured`: whether the beat was meant for the measured time,
    /// and whether the ack came within it.
    pub fn acked(&mut self, intended: u64, now: u64, measured: (bool, bool)) {
        let nanos = now.saturating_sub(intended);
        self.counts.acked += 1;
        self.second.acked += 1;
        self.second_latency.record(nanos);
        if measured.0 {
            self.latency.record(nanos);
        }
        self.counts.acked_measured += u64::from(measured.1);
        if let Some(seconds) = &mut self.seconds {
            let second = (intended / NANOS_PER_SECOND) as usize;
            if seconds.len() <= second {
                seconds.resize_with(second + 1, Recorded::default);
            }
            seconds[second].note(nanos);
        }
    }

    pub fn take_seconds(&mut self) -> Vec<Recorded> {
        self.seconds.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn rejected(&mut self, reason: &str) {
        self.second.faults += 1;
        count(&mut self.counts.rejected, reason);
    }

    pub fn error(&mut self, kind: &str) {
        self.second.faults += 1;
        count(&mut self.counts.errors, kind);
    }

    pub fn closed(&mut self, code: u16) {
        self.second.faults += 1;
        count(&mut self.counts.closes, &code.to_string());
    }

    pub fn take_second(&mut self) -> Second {
        let latency = self.second_latency.take();
        Second { latency, ..std::mem::take(&mut self.second) }
    }
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.acked += other.acked;
        self.acked_measured += other.acked_measured;
        self.late += other.late;
        self.unanswered += other.unanswered;
        self.resent += other.resent;
        self.reconnects += other.reconnects;
        self.visits += other.visits;
        self.pushes += other.pushes;
        self.rewards += other.rewards;
        for (mine, others) in [
            (&mut self.connect_retries, &other.connect_retries),
            (&mut self.rejected, &other.rejected),
            (&mut self.errors, &other.errors),
            (&mut self.closes, &other.closes),
        ] {
            add(mine, others);
        }
    }
}

pub fn add(mine: &mut Kinds, others: &Kinds) {
    for (kind, count) in others {
        *mine.entry(kind.clone()).or_default() += count;
    }
}

pub fn count(kinds: &mut Kinds, kind: &str) {
    match kinds.get_mut(kind) {
        Some(count) => *count += 1,
        None => drop(kinds.insert(kind.to_owned(), 1)),
    }
}
