//! The claims of rewards of the last days.

use super::Answer;
use model::ids::UserId;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::shard::Shard;

/// Days whose claims are kept, the newest included.
pub const CLAIM_DAYS: u16 = 3;

/// The state of a user that a new connection needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserStatus {
    /// Recording is paused.
    pub paused: bool,
    /// The ids of the rules per user that have rewarded the user on the day asked for.
    pub rewarded: Vec<String>,
}

/// Reads of claims. Claims are made by commits.
///
/// A written beat, not older than [`AGE_MS_MAX`](model::rewards::credit::AGE_MS_MAX), makes the claim of a rule
/// once the user has watched the minimum of the rule, unless there is a claim of the same key or the outbox is full.
/// The claim and its entry in the [`Outbox`](crate::outbox::Outbox) are written in one atomic step with the
/// record. Deletes and clears leave claims as they are; an erasure removes the user's claims. Claims are kept for
/// [`CLAIM_DAYS`].
///
/// Claims of [views](model::rewards::rule::RewardRule::VIEWS) are made and kept alike, but in place of the entry
/// they add to the [`Views`](crate::views::Views) of their content, and no read returns them.
///
/// A read sees every commit that was answered before it was asked.
pub trait Claims: Send + Sync + 'static {
    /// The state of the user that a new connection needs, on this day.
    fn user_status(&self, user: UserId, day: Day) -> Answer<UserStatus>;

    /// At most `limit` of the user's claims of a day, those of rules per user first.
    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>>;

    /// The claims of a shard on a day: all claims of rules per user, and those claims per content that the store can
    /// list.
    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>>;
}
