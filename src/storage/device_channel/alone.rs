//! The channel of a gateway that does not share its store.

use std::future::ready;

use futures_util::future::BoxFuture;

use super::{Announcement, ChannelAway, DeviceChannel, UserChange};
use model::ids::UserId;

/// There is no other gateway, so every message counts as delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl DeviceChannel for Alone {
    fn follow(&self, _user: UserId) {}

    fn unfollow(&self, _user: UserId) {}

    fn publish(&self, _user: UserId, _change: UserChange) {}

    fn announce(&self, _announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        Box::pin(ready(Ok(())))
    }
}
