//! Who was first: the claims of the last days.

use super::Answer;
use crate::model::ids::UserId;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;
use crate::model::shard::Shard;

/// Days whose claims are kept, the newest included.
pub const CLAIM_DAYS: u16 = 3;

/// What a new connection has to know of its user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserStatus {
    /// Recording is paused.
    pub paused: bool,
    /// The ids of the rules per user that have rewarded the user on the day asked for.
    pub rewarded: Vec<String>,
}

/// Reads of claims. They are made by commits.
///
/// A written beat, not older than [`AGE_MS_MAX`](crate::model::rewards::credit::AGE_MS_MAX), that has watched the
/// minimum of a rule it asks for makes the claim, unless there is one of the same key or the outbox has no room. The
/// claim and its entry in the [`Outbox`](crate::storage::outbox::Outbox) are one atomic step with the record.
/// Forgetting leaves claims as they are; an erasure takes the user's along. They are kept for [`CLAIM_DAYS`].
///
/// A read sees every commit that was answered before it was asked.
pub trait Claims: Send + Sync + 'static {
    /// What a new connection has to know of its user, on this day.
    fn user_status(&self, user: UserId, day: Day) -> Answer<UserStatus>;

    /// The user's claims of a day, those of rules per user first; no more than `limit`.
    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>>;

    /// The claims of a shard on a day: those of rules per user all, of the others as many as the store can name.
    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>>;
}
