//! Messages between coordinator and crowds: lines of JSON over the pipes of child processes.

use serde::{Deserialize, Serialize};

use super::latency::Recorded;
use super::load::Load;
use super::tally::{self, Counts, Kinds, Second};
use super::target::{Credentials, Target};

/// The first line to a child process.
#[derive(Deserialize, Serialize)]
pub struct Task {
    pub load: Load,
    /// Sockets take the targets in turns.
    pub targets: Vec<Target>,
    pub credentials: Credentials,
    /// The number of this run, unique to it.
    pub run: u64,
    /// The range of crowds of this process: from, to (exclusive).
    pub crowds: (u32, u32),
    pub crowds_in_all: u32,
}

impl Task {
    /// The range of sockets of a crowd, among all: from, to (exclusive).
    pub fn sockets_of(&self, crowd: u32) -> (u64, u64) {
        let cut = |crowd: u32| self.load.sockets * u64::from(crowd) / u64::from(self.crowds_in_all);
        (cut(crowd), cut(crowd + 1))
    }
}

/// An order to a crowd, after its task.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub enum Order {
    Connect,
    /// Starts the load at this moment, milliseconds since 1970.
    Load {
        at: u64,
    },
    /// Ends the load: no further beat is due.
    End,
    Verify,
}

/// A message from a crowd.
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
    /// `seconds`: the latencies by the second for which a beat was meant, if requested.
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

/// The result of reading back.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Readback {
    pub users: u64,
    /// Contents of these users with an acked beat.
    pub acked: u64,
    /// Contents that are stored as acked, or newer.
    pub stored: u64,
    /// Contents that are not stored, or older than acked.
    pub missing: u64,
    /// Contents without an answer.
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
