//! The short way of a beat that moves a position on: its head is replaced if it is still the one that was decided on,
//! by a plain command instead of the script.
//!
//! It needs no look at the deployment key. The old head is compared as a whole, so also its token, and no token is ever
//! given out twice: where this head is, nothing of the user has changed since, and it is this deployment. In a Redis
//! that was wiped there is no head, and nothing is written.
//!
//! Whatever is refused goes through the script, which says why: another gateway has written, or this call has been here
//! before, or the store was wiped. Or the head is the one that was decided on, in bytes that another version has
//! written: then the script takes it.

use super::head;
use super::keys::{self, Keys};
use super::users::RedisUsers;
use crate::storage::hot_store::optimistic::{Applied, Apply};
use crate::storage::redis::{Swap, Swapped};

impl RedisUsers {
    /// The apply as a swap, if it is of a head alone.
    pub(super) fn swap(&self, apply: &Apply) -> Option<Swap> {
        let (old, new) = (apply.expected.as_deref()?, apply.head.as_deref()?);
        if !apply.writes.is_empty() {
            return None;
        }
        let shard = keys::shard_of(apply.user);
        let names = Keys::of(shard);
        Some(Swap {
            shard,
            key: names.head(apply.user),
            old: head::encode(old),
            new: head::encode(new),
            channel: apply.news.then(|| names.channel(apply.user)),
        })
    }

    /// `None`: ask the script.
    pub(super) fn swapped(&self, apply: &Apply, swapped: Swapped) -> Option<Applied> {
        match swapped {
            Swapped::Done { followers } => {
                Some(Applied::Done { elsewhere: followers > u64::from(self.follows_itself(apply)) })
            }
            Swapped::Refused => None,
        }
    }
}
