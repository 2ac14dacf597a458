//! Applies the messages of other gateways here.
//!
//! Any user may connect to any gateway at any time, so the knowledge of one gateway about a user may be outdated by
//! another:
//!
//! - *The user's connections* here are told by the channel. A message that is lost leaves them with an older view until
//!   the next change or question; nothing that is stored depends on it.
//! - *What was decided* (flag, bitmaps, filters) only ever grows, so what is missing here costs one question to the
//!   store and what is known here stays true. Only an erasure takes claims back: it is announced to all gateways,
//!   whether they follow the user or not. If the announcement is lost, the welcome mends it, which asks the store; a
//!   request without a connection is denied what it could earn anew until the day ends.
//! - *What is still open* cannot be known by one gateway among several: the memory is never certain, and a
//!   welcome asks the store.
//! - *Whether recording is paused* is remembered only by a gateway that is alone; otherwise the store says so at the
//!   welcome, and the channel tells connected users. Beats are judged by the store's own row in any case.
//! - *Kicks* are announced, and hold where they are heard. *Revocations* are in a list that all gateways read: when one
//!   says that it changed, when the channel comes back, and every few seconds.

use std::sync::Arc;

use super::devices::fanout::Fanout;
use super::devices::kick_list::KickList;
use super::devices::presence::Presence;
use super::ingest::hold_index::HoldIndex;
use super::live::inlet::LiveInlet;
use super::names::UserNames;
use super::revocations::Revocations;
use super::rewards::memory::Memory;
use super::time::clock::Clock;
use model::ids::UserId;
use storage::device_channel::{Announcement, ChannelSubscriber, UserChange};

/// Handles the messages. Each takes a lock for as long as moving a value takes.
pub struct PeerMessages {
    pub fanout: Arc<Fanout>,
    pub presence: Arc<Presence>,
    /// With `store.steady_hold`.
    pub holds: Option<Arc<HoldIndex>>,
    pub kick_list: Arc<KickList>,
    pub clock: Arc<Clock>,
    /// `None`: a history service decides the rewards.
    pub memory: Option<Arc<Memory>>,
    pub live: Arc<LiveInlet>,
    /// Where users are named by texts.
    pub names: Option<UserNames>,
    pub revocations: Arc<Revocations>,
}

impl ChannelSubscriber for PeerMessages {
    fn changed(&self, user: UserId, change: UserChange) {
        if let (Some(holds), false) = (&self.holds, change.steady) {
            self.presence.changed_elsewhere(user);
            // Not waited for.
            drop(holds.commit(user));
        }
        self.fanout.leave(user, change);
    }

    fn announced(&self, announcement: Announcement) {
        match announcement {
            Announcement::Kicked(user, at) => self.kick_list.kicked_elsewhere(user, at, self.clock.now()),
            Announcement::Erased(user) => {
                self.memory.iter().for_each(|memory| memory.forget(user));
                self.names.iter().for_each(|names| names.forget(user));
                self.live.erased(user);
            }
            Announcement::Revocations => self.revocations.read_again(),
        }
    }

    fn connected(&self) {
        self.revocations.read_again();
    }
}
