//! What a change leaves to be published.

use crate::model::ids::UserId;
use crate::model::rewards::claim::Claim;

/// Something that happened, until its event is published. It is stored in one step with the change that made it happen.
#[derive(Clone, Debug, PartialEq)]
pub enum OutboxEntry {
    Claim(Claim),
}

impl OutboxEntry {
    /// Whose change it was. A user's entries are in the user's shard, and their events are published in their order.
    pub fn user(&self) -> UserId {
        match self {
            OutboxEntry::Claim(claim) => claim.key.user,
        }
    }

    /// The server's clock, milliseconds.
    pub fn made_at(&self) -> u64 {
        match self {
            OutboxEntry::Claim(claim) => claim.claimed_at,
        }
    }
}
