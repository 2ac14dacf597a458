//! The connections of each user at this gateway.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::inbox::{CloseRequest, Inbox};
use super::ready_list::Notifier;
use super::user_counts::UserCounts;
use crate::devices::client::ListedConnection;
use model::ids::{ConnectionId, GatewayId, UserId};
use model::revocation::TokenMark;
use model::visitor::Visitor;
use storage::device_channel::{Alone, DeviceChannel};

/// The number of locks of the registry. It is used when a connection opens or closes, never per beat.
const SHARDS: usize = 64;

/// The connected users, each with its connections.
///
/// Bounded by the connections of the listener.
pub struct Presence {
    shards: Vec<Mutex<Shard>>,
    hasher: RandomState,
    per_user_max: usize,
    /// Called under the lock of the user's shard, so that connects and disconnects keep their order.
    channel: Arc<dyn DeviceChannel>,
}

type Shard = HashMap<UserId, Devices>;

/// The connections of one user, the oldest first.
#[derive(Default)]
struct Devices {
    inboxes: Vec<Arc<Inbox>>,
    counts: Arc<UserCounts>,
}

/// A slot in the registry, given back when dropped.
pub struct Registration {
    presence: Arc<Presence>,
    inbox: Arc<Inbox>,
}

impl Presence {
    /// For a single gateway. A user has at most `per_user_max` connections at a time; one more closes the oldest.
    pub fn new(per_user_max: usize) -> Arc<Self> {
        Self::with_channel(per_user_max, Arc::new(Alone))
    }

    /// For one of several gateways; each counts its own connections of a user.
    pub fn with_channel(per_user_max: usize, channel: Arc<dyn DeviceChannel>) -> Arc<Self> {
        let shards = (0..SHARDS).map(|_| Mutex::default()).collect();
        Arc::new(Presence { shards, hasher: RandomState::new(), per_user_max, channel })
    }

    /// Registers a new connection of `user`, under a random id. `notifier` wakes it when its inbox is not empty.
    pub fn register(
        self: &Arc<Self>,
        user: UserId,
        token: TokenMark,
        visitor: Visitor,
        notifier: Notifier,
    ) -> Registration {
        let mut shard = self.shard(user);
        let devices = shard.entry(user).or_default();
        let inbox = Inbox::of_connection(user, token, visitor, devices.counts.clone(), notifier);
        devices.inboxes.push(inbox.clone());
        devices.recount();
        if devices.inboxes.len() == 1 {
            self.channel.follow(user);
        }
        let too_many = devices.inboxes.len().saturating_sub(self.per_user_max);
        devices.inboxes[..too_many].iter().for_each(|oldest| oldest.dismiss(CloseRequest::Replaced));
        drop(shard);
        Registration { presence: self.clone(), inbox }
    }

    /// An inbox for one request of `user`. Its changes are pushed to all of the user's connections but `origin`.
    pub fn request(
        &self,
        user: UserId,
        origin: Option<ConnectionId>,
        visitor: Visitor,
        notifier: Notifier,
    ) -> Arc<Inbox> {
        Inbox::of_request(user, origin, visitor, self.counts(user), notifier)
    }

    /// An inbox for changes of `user` that a gateway without a store sent for its connection.
    pub fn forwarded(
        &self,
        user: UserId,
        by: (GatewayId, ConnectionId),
        visitor: Visitor,
        notifier: Notifier,
    ) -> Arc<Inbox> {
        Inbox::of_gateway(user, by, visitor, self.counts(user), notifier)
    }

    fn counts(&self, user: UserId) -> Arc<UserCounts> {
        self.shard(user).get(&user).map(|devices| devices.counts.clone()).unwrap_or_default()
    }

    /// Takes note that another gateway has changed records of the user.
    pub fn changed_elsewhere(&self, user: UserId) {
        self.shard(user).get(&user).into_iter().for_each(|devices| devices.counts.changed());
    }

    /// Calls `tell` for the user's connections but `origin`. `tell` must not call the registry.
    pub fn others(&self, user: UserId, origin: ConnectionId, tell: impl Fn(&Inbox)) {
        self.each(user, |inbox| {
            if inbox.id != origin {
                tell(inbox);
            }
        });
    }

    /// Calls `tell` for this connection of the user, if it is here. `tell` must not call the registry.
    pub fn one(&self, user: UserId, connection: ConnectionId, tell: impl Fn(&Inbox)) {
        self.each(user, |inbox| {
            if inbox.id == connection {
                tell(inbox);
            }
        });
    }

    /// Asks all of the user's connections to close.
    pub fn dismiss(&self, user: UserId, close_request: CloseRequest) {
        self.each(user, |inbox| inbox.dismiss(close_request));
    }

    /// The user's welcomed connections here, the oldest first.
    pub fn connections(&self, user: UserId) -> Vec<ListedConnection> {
        let mut listed = Vec::new();
        self.each(user, |inbox| {
            listed.extend(inbox.client().map(|client| ListedConnection { id: inbox.id, client }));
        });
        listed
    }

    /// The time of issue of the newest token of the user's connections; `None` = unknown.
    pub fn newest_token(&self, user: UserId) -> Option<u64> {
        let mut newest = None;
        self.each(user, |inbox| newest = newest.max(inbox.token(|token| token.issued_ms)));
        newest
    }

    /// Closes the user's connections whose token was issued up to `at_ms`, or has no time of issue.
    pub fn dismiss_tokens_of(&self, user: UserId, at_ms: u64) {
        self.each(user, |inbox| {
            if inbox.token(|token| token.issued_ms.is_none_or(|issued| issued <= at_ms)) {
                inbox.dismiss(CloseRequest::Kicked);
            }
        });
    }

    /// Closes the connections that use the token of this id. Its user is not known, so all are looked at, one
    /// shard after the other.
    pub fn dismiss_token(&self, id: &str) {
        for shard in &self.shards {
            let shard = shard.lock();
            let inboxes = shard.values().flat_map(|devices| &devices.inboxes);
            let shown = |inbox: &&Arc<Inbox>| inbox.token(|token| token.id.as_deref() == Some(id));
            inboxes.filter(shown).for_each(|inbox| inbox.dismiss(CloseRequest::Kicked));
        }
    }

    /// Visits the user's connections under the lock of the user's shard.
    fn each(&self, user: UserId, mut visit: impl FnMut(&Inbox)) {
        let shard = self.shard(user);
        shard.get(&user).into_iter().flat_map(|devices| &devices.inboxes).for_each(|inbox| visit(inbox));
    }

    fn leave(&self, inbox: &Inbox) {
        let mut shard = self.shard(inbox.user);
        let Some(devices) = shard.get_mut(&inbox.user) else { return };
        devices.inboxes.retain(|other| other.id != inbox.id);
        devices.recount();
        if devices.inboxes.is_empty() {
            shard.remove(&inbox.user);
            self.channel.unfollow(inbox.user);
        }
    }

    fn shard(&self, user: UserId) -> MutexGuard<'_, Shard> {
        let index = self.hasher.hash_one(user) as usize % self.shards.len();
        self.shards[index].lock()
    }
}

impl Devices {
    fn recount(&self) {
        self.counts.set_connections(self.inboxes.len());
    }
}

impl Registration {
    pub fn inbox(&self) -> &Arc<Inbox> {
        &self.inbox
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.presence.leave(&self.inbox);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn notifier() -> Notifier {
        Notifier::Own(Arc::default())
    }

    fn close_request(registration: &Registration) -> Option<CloseRequest> {
        registration.inbox().take(Instant::now()).close_request
    }

    #[test]
    fn a_connection_over_the_limit_closes_the_oldest() {
        let presence = Presence::new(2);
        let all: Vec<Registration> = (0..3)
            .map(|_| presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier()))
            .collect();
        assert_eq!(all.iter().map(close_request).collect::<Vec<_>>(), [Some(CloseRequest::Replaced), None, None]);
    }

    #[test]
    fn a_connection_knows_whether_its_user_has_others() {
        let presence = Presence::new(2);
        let one = presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier());
        assert!(!one.inbox().has_others());
        assert!(presence.request(UserId(1), None, Visitor::default(), notifier()).has_others());
        let two = presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier());
        assert!(one.inbox().has_others() && two.inbox().has_others());
        drop(two);
        assert!(!one.inbox().has_others());
    }

    #[test]
    fn connections_and_requests_of_a_user_see_the_same_changes() {
        let presence = Presence::new(2);
        let one = presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier());
        let request = presence.request(UserId(1), Some(one.inbox().id), Visitor::default(), notifier());
        let before = one.inbox().user_changes();
        request.user_changed();
        assert_ne!(one.inbox().user_changes(), before);
        presence.changed_elsewhere(UserId(1));
        presence.changed_elsewhere(UserId(2));
        assert_eq!(one.inbox().user_changes(), before + 2);
    }

    #[test]
    fn a_user_without_connections_is_removed() {
        let presence = Presence::new(2);
        let (one, two) = (
            presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier()),
            presence.register(UserId(1), TokenMark::default(), Visitor::default(), notifier()),
        );
        drop((one, two));
        assert!(presence.shard(UserId(1)).is_empty());
    }
}
