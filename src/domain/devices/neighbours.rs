//! What follows here from what other gateways say.
//!
//! Any gateway may get any user at any time, so what this one knows of a user may be outdated by another:
//!
//! - *His connections* here are told by the channel. A message that is lost leaves them with an older view until the next
//!   change or question; nothing that is stored depends on it.
//! - *That he was decided* (flag, bitmaps, filters) only ever grows, so what is missing here costs one question to the
//!   store and what is known here stays true. Only an erasure takes claims back: it is announced to all gateways, whether
//!   they follow the user or not. If the announcement is lost, the welcome mends it, which asks the store; a request
//!   without a connection is denied what it could earn anew until the day ends.
//! - *That all others are open* nobody can know who is not the only one to claim: the memory is never certain, and a
//!   welcome asks the store.
//! - *That his recording is paused* is remembered by a gateway that is alone only; otherwise the store says so at the
//!   welcome, and the channel tells those who are connected. Beats are judged by the store's own row in any case.
//! - *Kicks* are announced, and hold where they are heard. *Revocations* are in a list that all gateways read: when one
//!   says that it changed, when the channel comes back, and every few seconds.

use std::sync::Arc;
use std::time::Instant;

use super::block::Block;
use super::fanout::Fanout;
use crate::domain::revocations::Revocations;
use crate::domain::rewards::memory::Memory;
use crate::model::ids::UserId;
use crate::storage::device_channel::{Announcement, Ear, Told};

/// Hears them. Everything it does takes a lock for as long as moving a value takes.
pub struct Neighbours {
    pub fanout: Arc<Fanout>,
    pub block: Arc<Block>,
    pub memory: Arc<Memory>,
    pub revocations: Arc<Revocations>,
}

impl Ear for Neighbours {
    fn told(&self, user: UserId, told: Told) {
        self.fanout.leave(user, told);
    }

    fn announced(&self, announcement: Announcement) {
        match announcement {
            Announcement::Kicked(user) => self.block.kick(user, Instant::now()),
            Announcement::Erased(user) => self.memory.forget(user),
            Announcement::Revocations => self.revocations.read_again(),
        }
    }

    fn connected(&self) {
        self.revocations.read_again();
    }
}
