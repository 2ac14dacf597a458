//! Sums that are written together.

use std::collections::{BTreeMap, BTreeSet};

use super::sum::{Sum, SumKey};
use crate::ids::Content;

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

/// All sums that some shards of a unit had pending, under one number. A flight never changes.
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

    /// Parts of about so many sums, to be written one after the other; together they are the flight. What concerns one
    /// document is in one part: the days of a content, and all of a content that restarts. Always the same of one flight.
    pub fn parts(self, sums_max: usize) -> Vec<Flight> {
        if self.sums.len() <= sums_max {
            return vec![self];
        }
        let Flight { unit, number, sums } = self;
        let restarting: BTreeSet<Content> =
            sums.iter().filter(|(_, sum)| sum.restarts).filter_map(|(key, _)| key.content()).collect();
        let (whole, rest): (Vec<_>, Vec<_>) =
            sums.into_iter().partition(|(key, _)| key.content().is_some_and(|content| restarting.contains(&content)));
        let mut parts = vec![Flight { unit, number, sums: whole.into_iter().collect() }];
        let mut last = None;
        for (key, sum) in rest {
            let is_full = parts.last().is_none_or(|part| part.sums.len() >= sums_max);
            // The days of a content follow each other.
            if is_full && (key.content().is_none() || key.content() != last) {
                parts.push(Flight::new(unit, number));
            }
            last = key.content();
            if let Some(part) = parts.last_mut() {
                part.sums.insert(key, sum);
            }
        }
        parts.retain(|part| !part.sums.is_empty());
        parts
    }

    /// Adds the sums of one shard.
    pub fn join(&mut self, sums: impl IntoIterator<Item = (SumKey, Sum)>) {
        for (key, sum) in sums {
            self.sums.entry(key).or_default().join(sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flight(sums: &[(&str, Sum)]) -> Flight {
        let mut flight = Flight::new(Unit::ALL, 9);
        flight.join(sums.iter().map(|(key, sum)| (key.parse().unwrap(), *sum)));
        flight
    }

    fn keys(part: &Flight) -> Vec<String> {
        part.sums.keys().map(ToString::to_string).collect()
    }

    #[test]
    fn parts_are_the_flight_and_keep_documents_together() {
        let restart = Sum { restarts: true, by: 2 };
        let flight = flight(&[
            ("1:1", Sum::of(1)),
            ("1:2", restart),
            ("1:3", Sum::of(3)),
            ("1:1:2026-11-01", Sum::of(1)),
            ("1:2:2026-11-01", Sum::of(2)),
            ("1:3:2026-11-01", Sum::of(3)),
            ("1:3:2026-11-02", Sum::of(4)),
            ("=3:viewers:1", Sum::of(5)),
            ("=3:viewers:2", Sum::of(6)),
        ]);
        assert_eq!(flight.clone().parts(9), std::slice::from_ref(&flight));
        let parts = flight.clone().parts(2);
        let expected = [
            vec!["1:2", "1:2:2026-11-01"],
            vec!["1:1", "1:3"],
            vec!["1:1:2026-11-01", "1:3:2026-11-01", "1:3:2026-11-02"],
            vec!["=3:viewers:1", "=3:viewers:2"],
        ];
        assert_eq!(parts.iter().map(keys).collect::<Vec<_>>(), expected);
        assert!(parts.iter().all(|part| part.number == 9));
        let mut again = Flight::new(Unit::ALL, 9);
        parts.into_iter().for_each(|part| again.join(part.sums));
        assert_eq!(again, flight);
    }
}
