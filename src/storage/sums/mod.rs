//! Sums in the hot store that wait for the statistics store, in the shards where they were counted.

pub mod drain;

use std::time::Duration;

use super::store_error::Answer;
use super::turn::Turn;
use model::sums::{Flight, FlightNumber};

/// The state of all shards of a unit together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// The greatest number of a flight in any shard; 0 = no flight yet.
    pub last: FlightNumber,
    /// For each shard the last flight that took all its pending sums, or found none: the least of these numbers. While it
    /// is below `last`, sums that were counted before the last flight may be pending. Or a flight may be on its way although
    /// no shard that was read holds one: shards are read one after the other.
    pub least: FlightNumber,
    /// The lowest flight that a shard still holds.
    pub held: Option<FlightNumber>,
    /// When the oldest pending or held sum was counted, milliseconds; `None`: no such sum.
    pub oldest: Option<u64>,
}

impl Look {
    /// Whether all that was counted before the last flight is known to be written.
    pub fn is_quiet(&self) -> bool {
        self.held.is_none() && self.least == self.last
    }
}

/// The result of taking a flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// All that was pending. Taking the same number again gives the same sums, until the flight is removed.
    Flight(Flight),
    /// Likewise, but there may be more that is pending.
    Part(Flight),
    /// A shard holds this lower flight, which has to be written first.
    Lower(FlightNumber),
}

/// Pending sums and flights of the shards of one unit. Several processes may use them at the same time, and may repeat
/// any call: see [`Flight`].
///
/// # Errors
/// After an error of any method, some shards may have done their part. Repeat the whole call.
pub trait PendingSums: Send + Sync + 'static {
    /// Asks for the lease to write flights. The lease only spares double work.
    fn take_turn(&self, lease: Duration) -> Answer<Turn>;

    /// Gives up the lease if this process has it, so that another process can take it.
    fn give_up_turn(&self) -> Answer<()>;

    /// Asks for the right to write a flight now. It lasts for this time, or until [`end_writing`](Self::end_writing). Only
    /// one process has it at a time, independent of the turn. Like the turn, it only avoids double work.
    fn begin_writing(&self, lasts: Duration) -> Answer<Turn>;

    /// Gives up the right to write if this process has it.
    fn end_writing(&self) -> Answer<()>;

    fn look(&self) -> Answer<Look>;

    /// Makes pending sums the flight of this number: so many that it has a bounded size, of whole shards, or a part of one.
    /// The other shards are sealed, too: none gives any more sums to flights up to this number, whichever call asks it. The
    /// answer comes after all shards have answered.
    fn take(&self, number: FlightNumber) -> Answer<Taken>;

    /// Gives what shards hold of this flight, and adds nothing: shards that it has not reached are sealed. The answer comes
    /// after all shards have answered.
    fn resume(&self, number: FlightNumber) -> Answer<Taken>;

    /// Removes the flight, after it is known to be written.
    fn remove(&self, number: FlightNumber) -> Answer<()>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flight_that_some_shards_are_sealed_for_may_be_on_its_way() {
        let quiet = Look { last: 7, least: 7, held: None, oldest: Some(1) };
        assert!(quiet.is_quiet() && Look::default().is_quiet());
        assert!(!Look { held: Some(7), ..quiet }.is_quiet());
        assert!(!Look { least: 6, ..quiet }.is_quiet());
    }
}
