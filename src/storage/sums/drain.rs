//! Waiting until sums are written, while others become pending all the time.

use super::Look;
use model::sums::FlightNumber;

/// Tells when all sums that were pending at a first look are written.
///
/// It does not wait for a moment without flights: while users watch and flights follow each other, there may be none.
pub struct Drain {
    /// The greatest flight at the first look.
    after: FlightNumber,
    /// The sums are in flights up to this one; `None`: not known yet.
    up_to: Option<FlightNumber>,
}

impl Drain {
    pub fn begin(look: Look) -> Self {
        Drain { after: look.last, up_to: None }
    }

    /// `look`: the first one, or a later one.
    pub fn is_over(&mut self, look: Look) -> bool {
        if look.oldest.is_none() && look.held.is_none() {
            return true;
        }
        // A shard may still give to the flight `after`, which then has its sums. Beyond it, every shard has given all that
        // it had since.
        if self.up_to.is_none() && look.least > self.after {
            self.up_to = Some(look.last);
        }
        self.up_to.is_some_and(|up_to| look.held.is_none_or(|held| held > up_to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUSY: Look = Look { last: 7, least: 7, held: None, oldest: Some(1) };

    #[test]
    fn it_ends_while_later_sums_are_pending_and_under_way() {
        let mut drain = Drain::begin(BUSY);
        assert!(!drain.is_over(BUSY));
        // Some shards have given to the next flight.
        assert!(!drain.is_over(Look { last: 8, held: Some(8), ..BUSY }));
        // All are, and it is under way.
        assert!(!drain.is_over(Look { last: 8, least: 8, held: Some(8), ..BUSY }));
        assert!(drain.is_over(Look { last: 9, least: 8, held: Some(9), ..BUSY }));
    }

    #[test]
    fn the_flight_of_the_first_look_is_not_enough() {
        let mut drain = Drain::begin(Look { last: 7, least: 6, held: Some(7), ..BUSY });
        assert!(!drain.is_over(BUSY));
        assert!(drain.is_over(Look { last: 8, least: 8, ..BUSY }));
    }

    #[test]
    fn a_flight_that_leaves_out_a_shard_is_not_enough() {
        let mut drain = Drain::begin(BUSY);
        assert!(!drain.is_over(Look { last: 9, ..BUSY }));
        assert!(!drain.is_over(Look { last: 10, least: 9, held: Some(10), ..BUSY }));
        assert!(drain.is_over(Look { last: 10, least: 9, ..BUSY }));
    }

    #[test]
    fn it_is_over_at_once_without_sums() {
        let none = Look { oldest: None, ..BUSY };
        assert!(Drain::begin(none).is_over(none));
    }
}
