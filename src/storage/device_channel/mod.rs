//! Messages between gateways that share a hot store.
//!
//! A user's changes reach only the gateways that follow the user, because they have connections of that user. Messages
//! may be lost: positions, rewards and revocations are in stores, and a gateway that missed a message finds them there.

mod alone;
pub mod codec;

use futures_util::future::BoxFuture;

use model::ids::{ConnectionId, GatewayId, UserId};
use model::push::Push;

pub use alone::Alone;

/// Carries messages between gateways.
///
/// *At most once*: a message is lost when the channel is away at either end, or when more messages wait than the bound
/// of the channel. It is counted then, and never sent again; its record is in the store. *Order*: messages of one
/// gateway about one user arrive in the order in which they were sent. Messages of different gateways have no order.
/// *Bounds*: as many followed users as are connected, and the queue of each backend.
///
/// No method blocks; all may be called from any thread. A gateway does not receive its own messages.
pub trait DeviceChannel: Send + Sync + 'static {
    /// The first connection of `user` has come to this gateway. Messages about the user are received from soon on until
    /// [`unfollow`](Self::unfollow), however often the channel is lost meanwhile.
    fn follow(&self, user: UserId);

    /// The last connection of `user` has left this gateway.
    fn unfollow(&self, user: UserId);

    /// Publishes a change to the other gateways that follow `user`.
    fn publish(&self, user: UserId, change: UserChange);

    /// Whether gateways without a store of their own, other than `but`, follow the user through this process. The store
    /// does not know of them.
    fn has_followers(&self, _user: UserId, _but: Option<GatewayId>) -> bool {
        false
    }

    /// Publishes a change to those gateways.
    fn publish_to_followers(&self, _user: UserId, _change: &UserChange, _but: Option<GatewayId>) {}

    /// Tells all other gateways. The message is on its way when this returns; the answer comes when it was handed over.
    /// A caller that does not wait for the answer drops the future.
    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>>;
}

/// Receives the messages of other gateways. Must not block.
pub trait ChannelSubscriber: Send + Sync + 'static {
    /// A change of a user that this gateway follows, or followed until now.
    fn changed(&self, user: UserId, change: UserChange);

    fn announced(&self, announcement: Announcement);

    /// The channel is connected, for the first time or again: announcements may have been missed before.
    fn connected(&self);
}

/// A change of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserChange {
    /// The connection that made the change, on any gateway: it gets no push.
    pub origin: ConnectionId,
    pub push: Push,
    /// The change is a record whose position merely moved on, so its push may wait.
    pub steady: bool,
}

/// A message for all gateways. To receive it twice, or late, changes nothing that lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// At this moment, server-clock milliseconds; 0 = it is of an older version, and counts from when it arrives.
    Kicked(UserId, u64),
    /// All data of the user were erased, claims included. What is forgotten by it, memory of claims and live sessions, comes
    /// back by itself.
    Erased(UserId),
    /// The list of revocations has changed.
    Revocations,
}

/// Some or all other gateways may have missed the message; to send it again is harmless.
#[derive(Debug, thiserror::Error)]
#[error("device channel unavailable: {0}")]
pub struct ChannelAway(pub String);
