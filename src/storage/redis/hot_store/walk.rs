//! A walk through a user's records in the order of their contents.
//!
//! The timeline names all contents of the user at one moment, the one in the head included. Whatever moves in it between
//! two pages, the order of contents stays.

use ::redis::pipe;

use super::Shared;
use super::bytes::DecodeError;
use super::keys::{self, Keys};
use super::reads;
use crate::{checked, value};
use model::cold::ColdMark;
use model::ids::{Content, UserId};
use model::walk::{WalkRequest, Walked};
use storage::hot_store::StoreError;

/// Rows that one step reads, so that other clients of Redis wait no longer.
const STEP: usize = 256;

impl Shared {
    pub(super) async fn walk(&self, user: UserId, request: &WalkRequest, now: u64) -> Result<Walked, StoreError> {
        let (mut contents, cold) = self.contents_of(user, self.settings.retention.horizon(now)).await?;
        contents.retain(|content| request.wants(*content));
        contents.sort_unstable();
        let has_more = contents.len() > request.limit;
        contents.truncate(request.limit);
        let next = contents.last().copied().filter(|_| has_more);
        let mut walked = Walked { next, cold, ..Walked::default() };
        for step in contents.chunks(STEP) {
            let found = self.get(user, step, now).await?;
            walked.records.extend(found.records.into_iter().flatten());
            // Rows may have left since the contents were read.
            walked.cold = walked.cold.or(found.cold.map(|cold| cold.mark));
        }
        Ok(walked)
    }

    /// In the order of the timeline. They are at most as many as are kept of a user. Also returns the mark of rows that have
    /// left.
    async fn contents_of(&self, user: UserId, horizon: u64) -> Result<(Vec<Content>, Option<ColdMark>), StoreError> {
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        // The head second: what leaves in between is named by the timeline, or by the mark.
        commands.zrange(Keys::of(shard).timeline(user), 0, -1).get(Keys::of(shard).head(user));
        let mut answers = checked::ask(&self.redis, shard, commands).await?.into_iter();
        let (members, head) = (answers.next(), reads::head_of(answers.next())?);
        let content = |member| keys::content_of(&value::bytes(member)?).ok_or(DecodeError("a timeline"));
        let members = value::array(members.unwrap_or(::redis::Value::Nil))?;
        let contents = members.into_iter().map(content).collect::<Result<_, DecodeError>>()?;
        Ok((contents, self.cold_mark(&head, horizon)))
    }
}
