//! A walk through a user's records in the order of their contents.
//!
//! The timeline names all contents of the user at one moment, the one in the head included. Whatever moves in it between
//! two pages, the order of contents stays.

use ::redis::pipe;

use super::Shared;
use super::bytes::DecodeError;
use super::keys::{self, Keys};
use crate::{checked, value};
use model::ids::{Content, UserId};
use model::walk::{WalkRequest, Walked};
use storage::hot_store::StoreError;

/// Rows that one step reads, so that other clients of Redis wait no longer.
const STEP: usize = 256;

impl Shared {
    pub(super) async fn walk(&self, user: UserId, request: &WalkRequest, now: u64) -> Result<Walked, StoreError> {
        let mut contents = self.contents_of(user).await?;
        contents.retain(|content| request.wants(*content));
        contents.sort_unstable();
        let has_more = contents.len() > request.limit;
        contents.truncate(request.limit);
        let mut walked = Walked { records: Vec::new(), next: contents.last().copied().filter(|_| has_more) };
        for step in contents.chunks(STEP) {
            walked.records.extend(self.get(user, step, now).await?.into_iter().flatten());
        }
        Ok(walked)
    }

    /// In the order of the timeline. They are at most as many as are kept of a user.
    async fn contents_of(&self, user: UserId) -> Result<Vec<Content>, StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.zrange(Keys::of(shard).timeline(user), 0, -1);
        let members = checked::ask(&self.redis, shard, commands).await?.into_iter().next();
        let content = |member| keys::content_of(&value::bytes(member)?).ok_or(DecodeError("a timeline"));
        let members = value::array(members.unwrap_or(::redis::Value::Nil))?;
        Ok(members.into_iter().map(content).collect::<Result<_, DecodeError>>()?)
    }
}
