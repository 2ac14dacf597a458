//! Users who were not read from the history store yet, after this store was lost and rebuilt.

use std::sync::Arc;

use ::redis::pipe;

use super::keys::{self, Keys};
use super::{RedisStore, Shared};
use crate::{checked, value};
use model::cold::ColdMark;
use model::ids::UserId;
use storage::history_store::HistoryUser;
use storage::hot_store::optimistic::make_head;
use storage::hot_store::unread_users::UnreadUsers;
use storage::hot_store::{Answer, StoreError};

impl Shared {
    async fn is_unread(&self, user: UserId) -> Result<bool, StoreError> {
        if self.redis.rebuilt_at().is_none() {
            return Ok(false);
        }
        let shard = keys::shard_of(user);
        let mut commands = pipe();
        commands.exists(Keys::of(shard).head(user));
        Ok(value::number(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))? == 0)
    }
}

impl UnreadUsers for RedisStore {
    fn rebuilt_at(&self) -> Option<u64> {
        self.shared.redis.rebuilt_at()
    }

    fn is_unread(&self, user: UserId) -> Answer<bool> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.is_unread(user).await })
    }

    fn make_head(&self, user: UserId, history: Arc<HistoryUser>, now: u64) -> Answer<Option<ColdMark>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let (store, retention) = (shared.users.store(), shared.settings.retention);
            make_head(store, &shared.packing, user, &history, retention, now).await
        })
    }
}
