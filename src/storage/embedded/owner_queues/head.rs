//! The head of an owner: its stored state beside its definition and its events.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use model::subscribers::{State, Status};
use storage::event_bus::Offset;
use storage::event_bus::part::{Offsets, Part};
use storage::owner_queues::{Line, Number, Version};

/// The head of one id. It stays when the owner is deleted, so that neither a version nor a number comes again.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Head {
    pub version: Version,
    /// The last that was given.
    pub number: Number,
    /// Events that have fallen out of its dead letters.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dropped: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
    /// Fields of a newer version, kept.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

/// The state of an existing owner.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Live {
    /// Its dead letters are under it.
    pub incarnation: Version,
    /// Its queue is under it: another one when the queue was emptied.
    pub place: Version,
    /// Entries up to this number are gone. Reads begin after it, since a removed row is still passed by a read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub removed: Number,
    pub status: Status,
    /// Its last try was slow.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub slow: bool,
    /// The next try of one that is failing is not before it, milliseconds since 1970.
    pub due: u64,
    pub depth: u64,
    pub bytes: u64,
    pub delivered: u64,
    pub dead: u64,
    pub dead_bytes: u64,
    /// Dead letters up to this number are gone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dead_removed: Number,
    /// The offset of each part up to which the queue has its events.
    pub at: Offsets,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replaying>,
    /// Fields of a newer version, kept.
    #[serde(flatten)]
    pub newer: Map<String, Value>,
}

/// A queue that is being filled.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Replaying {
    /// The offset of each part up to which events were left out because they come with the replay.
    pub needed: Offsets,
    /// Parts that were read to their end.
    pub ended: BTreeSet<Part>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Head {
    pub fn next_number(&mut self) -> Number {
        self.number += 1;
        self.number
    }

    /// The time at which an active owner began to fail; `None` if it is not active or does not fail.
    pub fn failing_since(&self) -> Option<u64> {
        let Status { state, failing, .. } = &self.live.as_ref()?.status;
        failing.filter(|_| *state == State::Active).map(|failing| failing.since)
    }
}

impl Live {
    pub fn new(version: Version, ends: Offsets) -> Self {
        Live {
            incarnation: version,
            place: version,
            removed: 0,
            status: Status::default(),
            slow: false,
            due: 0,
            depth: 0,
            bytes: 0,
            delivered: 0,
            dead: 0,
            dead_bytes: 0,
            dead_removed: 0,
            at: ends,
            replay: None,
            newer: Map::new(),
        }
    }

    /// Whether it belongs into the control queue.
    pub fn has_work(&self) -> bool {
        self.status.state == State::Active && self.depth > 0
    }

    /// Where it waits.
    pub fn line(&self) -> Line {
        if self.slow || self.status.failing.is_some() { Line::Slow } else { Line::Quick }
    }

    pub fn at(&self, part: &Part) -> Offset {
        self.at.get(part).copied().unwrap_or_default()
    }

    pub fn reach(&mut self, part: &Part, offset: Offset) {
        let at = self.at.entry(part.clone()).or_default();
        *at = offset.max(*at);
    }
}

impl Replaying {
    /// Whether nothing is missing any more. `parts`: all that the bus has.
    pub fn is_over(&self, at: &Offsets, parts: &[Part]) -> bool {
        let of = |offsets: &Offsets, part| offsets.get(part).copied().unwrap_or_default();
        parts.iter().all(|part| self.ended.contains(part) && of(at, part) >= of(&self.needed, part))
    }
}
