//! Gateways without a store, which are connected to this process as to a history service.
//!
//! ```text
//! commits here ─────────────────────┬─▶ streams of the gateways that follow the user, but of the one that sent the change
//! channel: what others have changed ┴─▶ connections here
//! ```
//!
//! To the inner channel, their users count as connected here.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::mpsc;

use model::ids::{GatewayId, UserId};
use storage::device_channel::codec::{self, PeerMessage};
use storage::device_channel::{Announcement, ChannelAway, ChannelSubscriber, DeviceChannel, UserChange};
use storage::gateway_messages::{Malformed, wire};

/// Messages that wait for one gateway. A further one is dropped, as a channel may do.
const WAITING_MAX: usize = 8_192;
/// Locks of the followed users.
const STRIPES: usize = 64;

/// Wraps the channel to other processes on the same store.
pub struct Gateways {
    inner: Arc<dyn DeviceChannel>,
    stripes: Vec<Mutex<HashMap<UserId, Followers>>>,
    hasher: RandomState,
    streams: Mutex<HashMap<StreamId, mpsc::Sender<Message>>>,
    /// As many as `streams`, readable without the lock.
    count: AtomicUsize,
    here: Mutex<Option<Arc<dyn ChannelSubscriber>>>,
    last: AtomicU64,
    connected: Gauge,
    dropped: Counter,
}

/// The followers of a user.
#[derive(Default)]
struct Followers {
    /// Connections here do.
    here: bool,
    streams: Vec<StreamId>,
}

/// A gateway whose connection was lost may have two for a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StreamId {
    gateway: GatewayId,
    number: u64,
}

/// A message for one gateway.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Changed(UserId, UserChange),
    Announced(Announcement),
}

impl Message {
    /// As its gateway reads it.
    pub fn encode(&self) -> wire::Told {
        // The receiver does not ask who sent it.
        let sender = GatewayId(0);
        match self {
            Message::Changed(user, change) => wire::Told { mid: user.0, message: codec::encode_change(sender, change) },
            Message::Announced(announcement) => {
                wire::Told { mid: 0, message: codec::encode_announcement(sender, *announcement) }
            }
        }
    }
}

/// Decodes a gateway's announcement.
pub fn decode_announcement(message: &[u8]) -> Result<Announcement, Malformed> {
    match codec::decode(message) {
        Ok((_, PeerMessage::Announced(announcement))) => Ok(announcement),
        Ok((_, PeerMessage::UserChange(_))) => Err(Malformed("not an announcement".to_owned())),
        Err(error) => Err(Malformed(error.to_string())),
    }
}

/// A gateway, as long as its stream is open.
pub struct Stream {
    gateways: Arc<Gateways>,
    id: StreamId,
    followed: HashSet<UserId>,
}

impl Gateways {
    pub fn before(inner: Arc<dyn DeviceChannel>) -> Arc<Self> {
        Arc::new(Gateways {
            inner,
            stripes: (0..STRIPES).map(|_| Mutex::default()).collect(),
            hasher: RandomState::new(),
            streams: Mutex::default(),
            count: AtomicUsize::new(0),
            here: Mutex::default(),
            last: AtomicU64::new(0),
            connected: Gauge::default(),
            dropped: Counter::default(),
        })
    }

    pub fn register(&self, registry: &mut Registry) {
        let help = "Gateways without a store that are connected to this history service";
        registry.register("gateways", help, self.connected.clone());
        let help = "Messages to gateways without a store that were dropped because too many waited";
        registry.register("gateway_messages_dropped", help, self.dropped.clone());
    }

    /// Sets the subscriber of messages from gateways. Returns the subscriber for the inner channel, which passes
    /// messages on to it and to the gateways.
    pub fn listen(self: &Arc<Self>, here: Arc<dyn ChannelSubscriber>) -> Arc<dyn ChannelSubscriber> {
        *self.here.lock() = Some(here);
        Arc::new(Listener(self.clone()))
    }

    /// A gateway connects.
    pub fn connect(self: &Arc<Self>, gateway: GatewayId) -> (Stream, mpsc::Receiver<Message>) {
        let (sender, messages) = mpsc::channel(WAITING_MAX);
        let id = StreamId { gateway, number: self.last.fetch_add(1, Ordering::Relaxed) };
        let mut streams = self.streams.lock();
        streams.insert(id, sender);
        self.count(streams.len());
        (Stream { gateways: self.clone(), id, followed: HashSet::new() }, messages)
    }

    /// Passes on what a gateway announces. The answer comes when the inner channel has taken it.
    pub fn announced(
        &self,
        from: GatewayId,
        announcement: Announcement,
    ) -> BoxFuture<'static, Result<(), ChannelAway>> {
        if let Some(here) = self.here.lock().clone() {
            here.announced(announcement);
        }
        self.publish_to_all(announcement, Some(from));
        self.inner.announce(announcement)
    }

    fn publish_to_all(&self, announcement: Announcement, but: Option<GatewayId>) {
        let streams = self.streams.lock();
        for (_, stream) in streams.iter().filter(|(id, _)| Some(id.gateway) != but) {
            self.send(stream, Message::Announced(announcement));
        }
    }

    fn send(&self, stream: &mpsc::Sender<Message>, message: Message) {
        if stream.try_send(message).is_err() {
            self.dropped.inc();
        }
    }

    fn count(&self, streams: usize) {
        self.count.store(streams, Ordering::Relaxed);
        self.connected.set(streams as i64);
    }

    /// Changes who follows a user, and tells the inner channel of the first and the last. The lock keeps their order.
    fn change(&self, user: UserId, change: impl FnOnce(&mut Followers)) {
        let mut stripe = self.stripe(user).lock();
        let mut entry = match stripe.entry(user) {
            Entry::Occupied(entry) => entry,
            Entry::Vacant(entry) => {
                let entry = entry.insert_entry(Followers::default());
                self.inner.follow(user);
                entry
            }
        };
        change(entry.get_mut());
        if entry.get().is_empty() {
            entry.remove();
            self.inner.unfollow(user);
        }
    }

    fn stripe(&self, user: UserId) -> &Mutex<HashMap<UserId, Followers>> {
        &self.stripes[self.hasher.hash_one(user) as usize % STRIPES]
    }

    fn followers(&self, user: UserId, but: Option<GatewayId>) -> Vec<StreamId> {
        let stripe = self.stripe(user).lock();
        let streams = stripe.get(&user).into_iter().flat_map(|followers| &followers.streams);
        streams.copied().filter(|id| Some(id.gateway) != but).collect()
    }
}

impl Followers {
    fn is_empty(&self) -> bool {
        !self.here && self.streams.is_empty()
    }
}

impl DeviceChannel for Gateways {
    fn follow(&self, user: UserId) {
        self.change(user, |followers| followers.here = true);
    }

    fn unfollow(&self, user: UserId) {
        self.change(user, |followers| followers.here = false);
    }

    fn publish(&self, user: UserId, change: UserChange) {
        self.inner.publish(user, change);
    }

    fn has_followers(&self, user: UserId, but: Option<GatewayId>) -> bool {
        if self.count.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let stripe = self.stripe(user).lock();
        stripe.get(&user).is_some_and(|followers| followers.streams.iter().any(|id| Some(id.gateway) != but))
    }

    fn publish_to_followers(&self, user: UserId, change: &UserChange, but: Option<GatewayId>) {
        let followers = self.followers(user, but);
        let streams = self.streams.lock();
        for stream in followers.iter().filter_map(|id| streams.get(id)) {
            self.send(stream, Message::Changed(user, change.clone()));
        }
    }

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        self.publish_to_all(announcement, None);
        self.inner.announce(announcement)
    }
}

/// Receives what the inner channel sends.
struct Listener(Arc<Gateways>);

impl ChannelSubscriber for Listener {
    fn changed(&self, user: UserId, change: UserChange) {
        self.0.publish_to_followers(user, &change, None);
        if let Some(here) = self.0.here.lock().clone() {
            here.changed(user, change);
        }
    }

    fn announced(&self, announcement: Announcement) {
        self.0.publish_to_all(announcement, None);
        if let Some(here) = self.0.here.lock().clone() {
            here.announced(announcement);
        }
    }

    fn connected(&self) {
        // A message missed before can only be a change of the list of revocations.
        self.0.publish_to_all(Announcement::Revocations, None);
        if let Some(here) = self.0.here.lock().clone() {
            here.connected();
        }
    }
}

impl Stream {
    /// A user has come to the gateway.
    pub fn come(&mut self, user: UserId) {
        if self.followed.insert(user) {
            let id = self.id;
            self.gateways.change(user, |followers| followers.streams.push(id));
        }
    }

    /// A user has left it.
    pub fn left(&mut self, user: UserId) {
        if self.followed.remove(&user) {
            self.forget(user);
        }
    }

    fn forget(&self, user: UserId) {
        let id = self.id;
        self.gateways.change(user, |followers| followers.streams.retain(|other| *other != id));
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let mut streams = self.gateways.streams.lock();
        streams.remove(&self.id);
        self.gateways.count(streams.len());
        drop(streams);
        self.followed.iter().for_each(|user| self.forget(*user));
    }
}

#[cfg(test)]
#[path = "gateways_tests.rs"]
mod tests;
