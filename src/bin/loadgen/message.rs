//! What coordinator and crowds tell each other: lines of JSON over the pipes of child processes.

use serde::{Deserialize, Serialize};

use super::latency::Recorded;
use super::load::Load;
use super::tally::{self, Counts, Kinds, Second};
use super::target::{Credentials, Target};

/// The first line to a child process.
#[derive(Deserialize, Serialize)]
pub struct Task {
    pub load: Load,
    /// Sockets take them in turns.
    pub targets: Vec<Target>,
    pub credentials: Credentials,
    /// The number of this run, as no other has.
    pub run: u64,
    /// Of all crowds, those of this process: from, to (exclusive).
    pub crowds: (u32, u32),
    pub crowds_in_all: u32,
}

impl Task {
    /// The sockets of a crowd, of all: from, to (exclusive).
    pub fn sockets_of(&self, crowd: u32) -> (u64, u64) {
        let cut = |crowd: u32| self.load.sockets * u64::from(crowd) / u64::from(self.crowds_in_all);
        (cut(crowd), cut(crowd + 1))
    }
}

/// To a crowd, after its task.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub enum Order {
    Connect,
    /// At this moment, milliseconds since 1970.
    Load {
        at: u64,
    },
    /// No beat is due any more.
    End,
    Verify,
}

/// From a crowd.
#[derive(Debug, Deserialize, Serialize)]
pub enum Message {
    Connecting {
        crowd: u32,
        connected: u64,
    },
    Connected,
    Second {
        number: u64,
        second: Second,
    },
    /// `seconds`: the latencies again, by the second of the load for which a beat was meant, if that was asked for.
    Loaded {
        counts: Box<Counts>,
        latency: Recorded,
        lag: Recorded,
        seconds: Vec<Recorded>,
    },
    Verified(Readback),
    Failed {
        why: String,
    },
}

/// What reading back found.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Readback {
    pub users: u64,
    /// Contents of these users of which a beat was acked.
    pub acked: u64,
    /// Of them, those that are stored as acked, or newer.
    pub stored: u64,
    /// Not there, or older than acked.
    pub missing: u64,
    /// Not answered.
    pub unread: u64,
    pub errors: Kinds,
}

impl Readback {
    pub fn add(&mut self, other: &Readback) {
        self.users += other.users;
        self.acked += other.acked;
        self.stored += other.stored;
        self.missing += other.missing;
        self.unread += other.unread;
        tally::add(&mut self.errors, &other.errors);
    }
}
