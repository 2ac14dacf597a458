//! What a clear has left: it removes so many rows at once that no commit waits long, and the rest goes here in steps. Until
//! then nobody sees it, and nothing comes back of it; when this process dies it goes with the retention.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::{answer, joined, keys, request, scripts, value};
use crate::model::ids::UserId;
use crate::storage::hot_store::StoreError;
use crate::storage::redis::{Call, Redis};

/// Users at one time. One more keeps what is left until the retention has passed.
const SWEEPS_MAX: usize = 64;

pub struct Sweeper(Arc<Semaphore>);

impl Sweeper {
    pub fn new() -> Self {
        Sweeper(Arc::new(Semaphore::new(SWEEPS_MAX)))
    }

    /// Goes on in a task of its own. `kept`: rows at the beginning that stay; `head`: by what the script goes.
    pub fn sweep(&self, redis: Redis, user: UserId, kept: u32, head: Vec<u8>) {
        let Ok(permit) = self.0.clone().try_acquire_owned() else { return };
        tokio::spawn(async move {
            let _permit = permit;
            if let Err(error) = sweep_all(&redis, user, kept, &head).await {
                tracing::warn!(%error, "rows of a user who has cleared stay until they outlive the retention");
            }
        });
    }
}

async fn sweep_all(redis: &Redis, user: UserId, kept: u32, head: &[u8]) -> Result<(), StoreError> {
    let mut left = Some(kept);
    while let Some(kept) = left {
        let deployment = redis.deployment().as_bytes().to_vec();
        let (shards, counts) = joined::shards(&[user], |user| keys::shard_of(*user));
        let args = vec![deployment, head.to_vec(), Vec::new(), counts, request::sweep(user, kept)];
        let call = Call { shards, args };
        let answers = value::array(redis.run(&scripts::COMMIT, vec![call]).await?.swap_remove(0))?;
        let answer = answers.into_iter().next().ok_or(super::bytes::Malformed("an answer"))?;
        left = answer::read_sweep(&value::bytes(answer)?)?;
    }
    Ok(())
}
