//! The channel of a gateway that shares its store with nobody.

use std::future::ready;

use futures_util::future::BoxFuture;

use super::{Announcement, ChannelAway, DeviceChannel, Told};
use crate::model::ids::UserId;

/// There is nobody to tell anything, so everybody was told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Alone;

impl DeviceChannel for Alone {
    fn follow(&self, _user: UserId) {}

    fn unfollow(&self, _user: UserId) {}

    fn tell(&self, _user: UserId, _told: Told) {}

    fn announce(&self, _announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        Box::pin(ready(Ok(())))
    }
}
