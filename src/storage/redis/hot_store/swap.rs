//! The fast path of a beat that only moves a position on: a plain command instead of the script replaces the head if it
//! is still the one that the decision was based on.
//!
//! It does not check the deployment key. The old head is compared as a whole, with its token, and no token is ever
//! given out twice. So if the head is equal, the user has not changed since, and this is the same deployment. A wiped
//! Redis has no head, and nothing is written.
//!
//! A refused swap goes through the script, which tells the reason: another gateway has written, or the call was done
//! before, or the store was wiped. A head with the same content in the bytes of another version is accepted by the
//! script.

use super::head;
use super::keys::{self, Keys};
use super::users::RedisUsers;
use crate::{Swap, Swapped};
use storage::hot_store::optimistic::{Applied, Apply};

impl RedisUsers {
    /// The apply as a swap, if it changes only a head.
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

    /// The result of a swap. `None`: call the script.
    pub(super) fn swapped(&self, apply: &Apply, swapped: Swapped) -> Option<Applied> {
        match swapped {
            Swapped::Done { followers } => {
                Some(Applied::Done { elsewhere: followers > u64::from(self.follows_itself(apply)) })
            }
            Swapped::Refused => None,
        }
    }
}
