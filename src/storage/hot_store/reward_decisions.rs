//! Rewards that a store decides itself.

use super::Answer;
use model::ids::UserId;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;

/// A store's own decisions on rewards. It needs the [senders](super::Group::senders) of a group, and none of its rules.
pub trait RewardDecisions: Send + Sync + 'static {
    /// The newest day that it has told of. Does not block, and never goes back.
    fn today(&self) -> Day;

    /// Whether there are rules per user, and rules per content. Does not block.
    fn rules(&self) -> (bool, bool);

    /// The state of a user that a new connection needs.
    fn open(&self, user: UserId) -> Answer<Opened>;

    /// The user's claims of today, or of all days that are kept, with today.
    fn claims(&self, user: UserId, kept: bool) -> Answer<(Day, Vec<ClaimKey>)>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Recording is paused.
    pub paused: bool,
    pub today: Day,
    /// Today, if all rules per user are decided.
    pub flag: Option<Day>,
}
