//! The current value of a total whose newest part is still in a shard, and not in the statistics store.

use super::flight::FlightNumber;
use super::sum::Sum;

/// A total in the statistics store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredTotal {
    pub total: i64,
    /// The last flight of the shard's unit that changed it; 0 = none did.
    pub flight: FlightNumber,
}

/// The parts of one total in a shard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShardSums {
    /// The shard's last flight. The sums of this flight and of all earlier ones are in the store, or on their way to
    /// it.
    pub last: FlightNumber,
    /// The part of the flight that the shard holds.
    pub flight: Option<(FlightNumber, Sum)>,
    pub pending: Option<Sum>,
}

impl ShardSums {
    /// The current total. `stored` must have been read after the shard.
    ///
    /// The store may be ahead: a flight that began after the shard was read has taken the pending sums there. Then the
    /// stored number is the newest.
    pub fn upon(&self, stored: StoredTotal) -> i64 {
        if stored.flight > self.last {
            return stored.total;
        }
        let flight = self.flight.filter(|(number, _)| *number > stored.flight).map(|(_, sum)| sum);
        flight.into_iter().chain(self.pending).fold(stored.total, |total, sum| sum.upon(total))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORED: StoredTotal = StoredTotal { total: 100, flight: 5 };

    #[test]
    fn a_sum_in_flight_is_added_once() {
        let shard = ShardSums { last: 6, flight: Some((6, Sum::of(10))), pending: Some(Sum::of(1)) };
        assert_eq!(shard.upon(STORED), 111);
        assert_eq!(shard.upon(StoredTotal { total: 110, flight: 6 }), 111, "the flight is written");
        assert_eq!(shard.upon(StoredTotal { total: 111, flight: 7 }), 111, "a later one took the pending sum");
        assert_eq!(ShardSums::default().upon(StoredTotal::default()), 0);
    }

    #[test]
    fn a_deleted_sum_starts_again_at_0() {
        let restart = Some(Sum { restarts: true, by: 2 });
        let pending = ShardSums { last: 6, flight: Some((6, Sum::of(10))), pending: restart };
        assert_eq!(pending.upon(STORED), 2);
        let under_way =
            ShardSums { last: 6, flight: Some((6, Sum { restarts: true, by: 2 })), pending: Some(Sum::of(1)) };
        assert_eq!(under_way.upon(STORED), 3);
    }
}
