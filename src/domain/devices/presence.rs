//! Who is connected here.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::mailbox::{Farewell, Mailbox};
use crate::model::ids::{ConnectionId, UserId};

/// Locks of the registry. It is touched when a connection comes or goes, never per beat.
const SHARDS: usize = 64;

/// The users that are connected, and by which connections.
///
/// Bounded by the connections of the listener.
pub struct Presence {
    shards: Vec<Mutex<HashMap<UserId, Arc<Devices>>>>,
    hasher: RandomState,
    per_user_max: usize,
}

/// The connections of one user, the oldest first.
#[derive(Debug, Default)]
pub struct Devices {
    mailboxes: Mutex<Vec<Arc<Mailbox>>>,
    count: AtomicUsize,
}

/// A place in the registry, given back when dropped.
pub struct Registration {
    presence: Arc<Presence>,
    mailbox: Arc<Mailbox>,
}

impl Presence {
    /// `per_user_max` connections of one user at a time; the oldest goes when one more comes.
    pub fn new(per_user_max: usize) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Presence { shards, hasher: RandomState::new(), per_user_max })
    }

    /// Registers a new connection of `user`, under a random id.
    pub fn register(self: &Arc<Self>, user: UserId) -> Registration {
        let mut shard = self.shard(user);
        let devices = shard.entry(user).or_default().clone();
        let mailbox = Mailbox::new(user, Some(devices.clone()));
        let mut mailboxes = lock(&devices.mailboxes);
        mailboxes.push(mailbox.clone());
        devices.count.store(mailboxes.len(), Ordering::Relaxed);
        let staying = mailboxes.len().saturating_sub(self.per_user_max);
        mailboxes[..staying].iter().for_each(|oldest| oldest.dismiss(Farewell::Replaced));
        drop(mailboxes);
        drop(shard);
        Registration { presence: self.clone(), mailbox }
    }

    /// The user's connections here, if there are any.
    pub fn devices(&self, user: UserId) -> Option<Arc<Devices>> {
        self.shard(user).get(&user).cloned()
    }

    fn leave(&self, mailbox: &Mailbox) {
        let mut shard = self.shard(mailbox.user);
        let Some(devices) = &mailbox.devices else { return };
        let mut mailboxes = lock(&devices.mailboxes);
        mailboxes.retain(|other| other.id != mailbox.id);
        devices.count.store(mailboxes.len(), Ordering::Relaxed);
        if mailboxes.is_empty() {
            shard.remove(&mailbox.user);
        }
    }

    fn shard(&self, user: UserId) -> MutexGuard<'_, HashMap<UserId, Arc<Devices>>> {
        let place = self.hasher.hash_one(user) as usize % self.shards.len();
        lock(&self.shards[place])
    }
}

impl Devices {
    /// How many there are; costs no lock.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Calls `tell` for all but `origin`.
    pub fn others(&self, origin: ConnectionId, tell: impl Fn(&Mailbox)) {
        lock(&self.mailboxes).iter().filter(|mailbox| mailbox.id != origin).for_each(|mailbox| tell(mailbox));
    }

    pub fn dismiss_all(&self, farewell: Farewell) {
        lock(&self.mailboxes).iter().for_each(|mailbox| mailbox.dismiss(farewell));
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

/// Nothing that could panic runs under these locks, so a poisoned one is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn farewell(registration: &Registration) -> Option<Farewell> {
        registration.mailbox().take(Instant::now()).farewell
    }

    #[test]
    fn the_oldest_connection_goes_when_one_too_many_comes() {
        let presence = Presence::new(2);
        let all: Vec<Registration> = (0..3).map(|_| presence.register(UserId(1))).collect();
        assert_eq!(all.iter().map(farewell).collect::<Vec<_>>(), [Some(Farewell::Replaced), None, None]);
    }

    #[test]
    fn nothing_is_kept_of_a_user_who_left() {
        let presence = Presence::new(2);
        let (one, two) = (presence.register(UserId(1)), presence.register(UserId(1)));
        assert_eq!(presence.devices(UserId(1)).map(|devices| devices.count()), Some(2));
        drop((one, two));
        assert!(presence.devices(UserId(1)).is_none());
    }
}
