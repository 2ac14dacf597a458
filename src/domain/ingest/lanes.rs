//! The lanes of one thread: a part of the store that is away delays only its own users.

use super::intake::Intake;
use model::ids::UserId;
use model::shard::{Shard, Shards};

/// The lane of the store for a user's changes. It never changes, so that answers come in order, and listeners get the
/// user's changes in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lane(u16);

/// An intake for each lane of the store.
pub struct Lanes {
    intakes: Vec<Intake>,
    lane_of: LaneOf,
}

/// [`Positions::lane`](storage::hot_store::Positions::lane) of the store.
pub type LaneOf = Box<dyn Fn(Shard) -> usize + Send + Sync>;

impl Lanes {
    /// `intakes`: one for each lane, in their order.
    pub fn new(intakes: Vec<Intake>, lane_of: LaneOf) -> Self {
        assert!(!intakes.is_empty(), "a store has at least one lane");
        Lanes { intakes, lane_of }
    }

    pub fn of(&self, user: UserId) -> Lane {
        match self.intakes.len() {
            1 => Lane::default(),
            _ => Lane((self.lane_of)(Shards::DEFAULT.of(user)) as u16),
        }
    }

    pub fn intake(&self, lane: Lane) -> &Intake {
        &self.intakes[usize::from(lane.0)]
    }
}
