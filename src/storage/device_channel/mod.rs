//! What gateways that share a hot store tell each other.
//!
//! A user's changes reach only the gateways that follow the user, because they have connections of that user. Nothing
//! that must not be lost goes this way: positions, rewards and revocations are in stores, and a gateway that missed a
//! message finds them there.

mod alone;
mod codec;
pub mod redis;

use futures_util::future::BoxFuture;

use crate::model::ids::{ConnectionId, UserId};
use crate::model::push::Push;

pub use alone::Alone;

/// Carries messages between gateways.
///
/// *At most once*: a message is lost when the channel is away, at either end, or when more wait than the channel's
/// bound; it is then counted, and never sent again. A lost message is no lost position: its record is in the store.
/// *Order*: what one gateway tells of one user arrives in the order in which it was told, as far as it arrives; between
/// messages of different gateways there is none. *Bounds*: as many followed users as are connected, and each backend's
/// queue.
///
/// No method blocks; all may be called from any thread. A gateway does not hear its own messages.
pub trait DeviceChannel: Send + Sync + 'static {
    /// The first connection of `user` has come to this gateway: what others tell of him is to be heard, as soon as may
    /// be and until [`unfollow`](Self::unfollow), however often the channel is lost meanwhile.
    fn follow(&self, user: UserId);

    /// The last connection of `user` has left this gateway.
    fn unfollow(&self, user: UserId);

    /// Tells the other gateways that follow `user`.
    fn tell(&self, user: UserId, told: UserChange);

    /// Tells all other gateways. It is on its way when this returns; the answer comes when it was handed to them. Who
    /// does not wait for it drops it.
    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>>;
}

/// Hears what other gateways say. Must not block.
pub trait ChannelSubscriber: Send + Sync + 'static {
    /// Of a user that this gateway follows, or followed until now.
    fn changed(&self, user: UserId, change: UserChange);

    fn announced(&self, announcement: Announcement);

    /// The channel is there, for the first time or again: announcements may have been missed before.
    fn connected(&self);
}

/// A change of a user.
#[derive(Clone, Debug, PartialEq)]
pub struct UserChange {
    /// The connection that already knows; it may be one of any gateway.
    pub origin: ConnectionId,
    pub push: Push,
    /// Of a record: it merely moved on, so it may wait.
    pub steady: bool,
}

/// What concerns all gateways. To hear it twice changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    Kicked(UserId),
    /// Nothing is kept of the user any more, claims included.
    Erased(UserId),
    /// The list of revocations is another one.
    Revocations,
}

/// Other gateways may not have heard it, or not all; saying it again is harmless.
#[derive(Debug, thiserror::Error)]
#[error("device channel unavailable: {0}")]
pub struct ChannelAway(pub String);
