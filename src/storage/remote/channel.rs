//! The channel of a gateway without a store: its history services.
//!
//! The service that commits a change tells the other gateways of it, so this gateway tells nothing itself but kicks.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use super::RemoteStore;
use model::ids::UserId;
use storage::device_channel::{Announcement, ChannelAway, DeviceChannel, UserChange};

pub struct RemoteChannel {
    pub services: RemoteStore,
}

impl DeviceChannel for RemoteChannel {
    fn follow(&self, user: UserId) {
        self.services.follow(user);
    }

    fn unfollow(&self, user: UserId) {
        self.services.unfollow(user);
    }

    fn publish(&self, _user: UserId, _change: UserChange) {}

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        match announcement {
            Announcement::Kicked(user, _) => self.services.clone().announce_to_all(user, announcement).boxed(),
            // The service does so that commits the erasure, or keeps the list.
            Announcement::Erased(_) | Announcement::Revocations => ready(Ok(())).boxed(),
        }
    }
}
