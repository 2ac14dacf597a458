//! Who is connected here.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::bell::Bell;
use super::mailbox::{Farewell, Mailbox};
use crate::model::ids::{ConnectionId, UserId};
use crate::model::revocation::TokenMark;
use crate::storage::device_channel::{Alone, DeviceChannel};

/// Locks of the registry. It is touched when a connection comes or goes, never per beat.
const SHARDS: usize = 64;

/// The users that are connected, and by which connections.
///
/// Bounded by the connections of the listener.
pub struct Presence {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    per_user_max: usize,
    /// Is told of whom to follow, under the lock of his shard, so that coming and going keep their order.
    channel: Arc<dyn DeviceChannel>,
}

type Shard = HashMap<UserId, Devices>;

/// The connections of one user, the oldest first.
#[derive(Default)]
struct Devices {
    mailboxes: Vec<Arc<Mailbox>>,
    /// How many they are, for whoever wants to know without a lock.
    count: Arc<AtomicUsize>,
}

/// A place in the registry, given back when dropped.
pub struct Registration {
    presence: Arc<Presence>,
    mailbox: Arc<Mailbox>,
}

impl Presence {
    /// Of a gateway that is alone. `per_user_max` connections of one user at a time; the oldest goes when one more comes.
    pub fn new(per_user_max: usize) -> Arc<Self> {
        Self::with_channel(per_user_max, Arc::new(Alone))
    }

    /// Of one gateway among several; each counts its own connections of a user.
    pub fn with_channel(per_user_max: usize, channel: Arc<dyn DeviceChannel>) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Presence { shards, hasher: RandomState::new(), per_user_max, channel })
    }

    /// Registers a new connection of `user`, under a random id. `bell`: how it learns of what is left for it.
    pub fn register(self: &Arc<Self>, user: UserId, token: TokenMark, bell: Bell) -> Registration {
        let mut shard = self.shard(user);
        let devices = shard.entry(user).or_default();
        let mailbox = Mailbox::of_connection(user, token, devices.count.clone(), bell);
        devices.mailboxes.push(mailbox.clone());
        devices.recount();
        if devices.mailboxes.len() == 1 {
            self.channel.follow(user);
        }
        let too_many = devices.mailboxes.len().saturating_sub(self.per_user_max);
        devices.mailboxes[..too_many].iter().for_each(|oldest| oldest.dismiss(Farewell::Replaced));
        drop(shard);
        Registration { presence: self.clone(), mailbox }
    }

    /// A mailbox for one request of `user`. What it changes is told to all of the user's connections but `origin`.
    pub fn request(&self, user: UserId, origin: Option<ConnectionId>, bell: Bell) -> Arc<Mailbox> {
        let connections = self.shard(user).get(&user).map(|devices| devices.count.clone()).unwrap_or_default();
        Mailbox::of_request(user, origin, connections, bell)
    }

    /// Calls `tell` for the user's connections but `origin`. It must not come back here.
    pub fn others(&self, user: UserId, origin: ConnectionId, tell: impl Fn(&Mailbox)) {
        self.each(user, |mailbox| {
            if mailbox.id != origin {
                tell(mailbox);
            }
        });
    }

    /// Calls `tell` for this connection of the user, if it is here. It must not come back here.
    pub fn one(&self, user: UserId, connection: ConnectionId, tell: impl Fn(&Mailbox)) {
        self.each(user, |mailbox| {
            if mailbox.id == connection {
                tell(mailbox);
            }
        });
    }

    /// Tells all of the user's connections to go.
    pub fn dismiss(&self, user: UserId, farewell: Farewell) {
        self.each(user, |mailbox| mailbox.dismiss(farewell));
    }

    /// When the newest token that the user's connections go by was issued; `None` = nobody knows.
    pub fn newest_token(&self, user: UserId) -> Option<u64> {
        let mut newest = None;
        self.each(user, |mailbox| newest = newest.max(mailbox.token(|token| token.issued_ms)));
        newest
    }

    /// Tells those of the user's connections to go whose token was issued up to `at_ms`, or does not say when.
    pub fn dismiss_tokens_of(&self, user: UserId, at_ms: u64) {
        self.each(user, |mailbox| {
            if mailbox.token(|token| token.issued_ms.is_none_or(|issued| issued <= at_ms)) {
                mailbox.dismiss(Farewell::Kicked);
            }
        });
    }

    /// Tells the connections to go that go by the token of this id. Nobody knows whose it is, so all are looked at, one
    /// shard after the other.
    pub fn dismiss_token(&self, id: &str) {
        for shard in &self.shards {
            let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
            let mailboxes = shard.values().flat_map(|devices| &devices.mailboxes);
            let shown = |mailbox: &&Arc<Mailbox>| mailbox.token(|token| token.id.as_deref() == Some(id));
            mailboxes.filter(shown).for_each(|mailbox| mailbox.dismiss(Farewell::Kicked));
        }
    }

    /// Visits the user's connections under the lock of his shard.
    fn each(&self, user: UserId, mut visit: impl FnMut(&Mailbox)) {
        let shard = self.shard(user);
        shard.get(&user).into_iter().flat_map(|devices| &devices.mailboxes).for_each(|mailbox| visit(mailbox));
    }

    fn leave(&self, mailbox: &Mailbox) {
        let mut shard = self.shard(mailbox.user);
        let Some(devices) = shard.get_mut(&mailbox.user) else { return };
        devices.mailboxes.retain(|other| other.id != mailbox.id);
        devices.recount();
        if devices.mailboxes.is_empty() {
            shard.remove(&mailbox.user);
            self.channel.unfollow(mailbox.user);
        }
    }

    /// Nothing that could panic runs under these locks, so a poisoned one is as good as any.
    fn shard(&self, user: UserId) -> MutexGuard<'_, Shard> {
        let place = self.hasher.hash_one(user) as usize % self.shards.len();
        self.shards[place].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Devices {
    fn recount(&self) {
        self.count.store(self.mailboxes.len(), Ordering::Relaxed);
    }
}

impl Registration {
    pub fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.presence.leave(&self.mailbox);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn bell() -> Bell {
        Bell::Own(Arc::default())
    }

    fn farewell(registration: &Registration) -> Option<Farewell> {
        registration.mailbox().take(Instant::now()).farewell
    }

    #[test]
    fn the_oldest_connection_goes_when_one_too_many_comes() {
        let presence = Presence::new(2);
        let all: Vec<Registration> =
            (0..3).map(|_| presence.register(UserId(1), TokenMark::default(), bell())).collect();
        assert_eq!(all.iter().map(farewell).collect::<Vec<_>>(), [Some(Farewell::Replaced), None, None]);
    }

    #[test]
    fn a_connection_knows_whether_it_is_alone() {
        let presence = Presence::new(2);
        let one = presence.register(UserId(1), TokenMark::default(), bell());
        assert!(!one.mailbox().has_company());
        assert!(presence.request(UserId(1), None, bell()).has_company());
        let two = presence.register(UserId(1), TokenMark::default(), bell());
        assert!(one.mailbox().has_company() && two.mailbox().has_company());
        drop(two);
        assert!(!one.mailbox().has_company());
    }

    #[test]
    fn nothing_is_kept_of_a_user_who_left() {
        let presence = Presence::new(2);
        let (one, two) = (
            presence.register(UserId(1), TokenMark::default(), bell()),
            presence.register(UserId(1), TokenMark::default(), bell()),
        );
        drop((one, two));
        assert!(presence.shard(UserId(1)).is_empty());
    }
}
