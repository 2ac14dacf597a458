//! Sums that are written together.

use std::collections::BTreeMap;

use super::sum::{Sum, SumKey};

/// Sums that share their flights. Each document keeps a flight number for each unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(pub u16);

impl Unit {
    /// The only unit so far.
    pub const ALL: Unit = Unit(0);
}

/// Microseconds since 1970 at which the flight began, or one more than the last number of the unit, whichever is
/// greater. Numbers only grow in a unit, even after a store was restored from a copy.
pub type FlightNumber = u64;

/// The sums of all shards of a unit under one number. A flight never changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flight {
    pub unit: Unit,
    pub number: FlightNumber,
    pub sums: BTreeMap<SumKey, Sum>,
}

impl Flight {
    pub fn new(unit: Unit, number: FlightNumber) -> Self {
        Flight { unit, number, sums: BTreeMap::new() }
    }

    /// Adds the sums of one shard.
    pub fn join(&mut self, sums: impl IntoIterator<Item = (SumKey, Sum)>) {
        for (key, sum) in sums {
            self.sums.entry(key).or_default().join(sum);
        }
    }
}
