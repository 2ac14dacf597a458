//! Builds packs.

use std::sync::Arc;

use model::ids::UserId;
use model::pack::{Pack, UserPack};
use model::retention::Retention;
use model::shard::Region;
use storage::history_bus::codec;
use storage::hot_store::ListedUser;

/// A pack as it is sent.
pub struct EncodedPack {
    /// The number of users in the pack.
    pub users: usize,
    pub bytes: Vec<u8>,
}

/// Users of a region whose changes are sent together. Every pack but the last is filled up to the bound.
pub struct Batch {
    deployment: Arc<str>,
    region: Region,
    retention: Retention,
    bytes_max: usize,
    head_len: usize,
    /// The bytes in the pack that is being filled.
    len: usize,
    packs: Vec<Vec<UserPack>>,
    /// All users that may leave the list, also those without anything to send.
    pub users: Vec<ListedUser>,
    /// Users of whom not all can be sent, each with what is wrong: they stay listed.
    pub unsound: Vec<(UserId, Vec<String>)>,
    pub rows: u64,
}

impl Batch {
    /// `bytes_max`: the bytes of a pack; a single row may be longer.
    pub fn new(deployment: Arc<str>, region: Region, retention: Retention, bytes_max: usize) -> Self {
        let head_len = codec::head_len(&deployment, region, Some(retention));
        let (packs, users, unsound) = Default::default();
        Batch { deployment, region, retention, bytes_max, head_len, len: usize::MAX, packs, users, unsound, rows: 0 }
    }

    /// Whether more than a pack was added.
    pub fn is_full(&self) -> bool {
        self.packs.len() > 1
    }

    pub fn add(&mut self, user: ListedUser) {
        // A row that the history store does not take would go into quarantine, and its user would leave the list.
        let (pack, faults) = codec::sound(user.pack());
        match faults.is_empty() {
            true => self.users.push(user),
            false => self.unsound.push((user.user, faults)),
        }
        if pack.rows.is_empty() && pack.forgetting.is_none() {
            return;
        }
        self.rows += pack.rows.len() as u64;
        for part in codec::split(pack, self.bytes_max.saturating_sub(self.head_len)) {
            let len = codec::user_len(&part);
            if self.len.saturating_add(len) > self.bytes_max {
                self.packs.push(Vec::new());
                self.len = self.head_len;
            }
            self.len += len;
            self.packs.last_mut().expect("there is one").push(part);
        }
    }

    /// The packs, and all users.
    pub fn encode(self) -> (Vec<EncodedPack>, Vec<ListedUser>) {
        let Batch { deployment, region, retention, packs, users, .. } = self;
        let retention = Some(retention);
        let encode = |users: Vec<UserPack>| EncodedPack {
            users: users.len(),
            bytes: codec::encode(&Pack { deployment: deployment.clone(), region, retention, users }),
        };
        (packs.into_iter().map(encode).collect(), users)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history_packs::fixture::listed;

    #[test]
    fn packs_are_filled_up_to_the_bound_and_a_long_user_is_cut() {
        let mut batch = Batch::new("d".into(), Region(19), Retention::of_ms(1), 400);
        // All of the same region.
        let users = (0..).map(model::ids::UserId);
        let users = users.filter(|user| model::shard::Shards::DEFAULT.of(*user).region() == Region(19));
        users.take(6).zip([1, 1, 0, 20, 1, 1]).for_each(|(user, rows)| batch.add(listed(user, rows)));
        assert!(batch.is_full());
        assert_eq!((batch.users.len(), batch.rows), (6, 24));
        let (packs, users) = batch.encode();
        assert_eq!(users.len(), 6);
        let fit = packs.iter().all(|pack| pack.bytes.len() <= 400);
        assert!((4..=7).contains(&packs.len()) && fit, "{} packs", packs.len());
        let counts: Vec<usize> = packs.iter().map(|pack| pack.users).collect();
        let packs: Vec<Pack> = packs.iter().map(|pack| codec::decode(&pack.bytes).expect("a pack")).collect();
        assert_eq!(counts, packs.iter().map(|pack| pack.users.len()).collect::<Vec<_>>());
        let rows = packs.iter().flat_map(|pack| &pack.users).map(|user| user.rows.len());
        assert_eq!(rows.sum::<usize>(), 24);
    }
}
