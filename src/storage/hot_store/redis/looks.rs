//! When users have to be looked at for what the retention and clears have left: `{h}:x`, a sorted set in each shard of
//! the users by moments.
//!
//! Each user who has a head is in it, no later than anything of theirs is to be removed. An entry is written in one
//! step with the head: with the first write of a user, with the first of each day, and with a clear. A look ends
//! with an entry for the next one, under the user's token. Nothing that a user has expires by itself.

use ::redis::pipe;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use rand::seq::SliceRandom;

use super::claims::{Words, words};
use super::keys::Keys;
use super::{Shared, checked, joined, listed, value};
use crate::model::ids::UserId;
use crate::model::shard::{Shard, Shards};
use crate::storage::hot_store::{Due, StoreError};

/// Shards that are looked through in one go, and users of each: a shard with more of them has its turn again.
const STEP_SHARDS: usize = 200;
const USERS_MAX: usize = 32;

/// The shards in a random order, so that gateways look at different ones.
#[derive(Default)]
pub struct Rota(Mutex<Vec<Shard>>);

impl Rota {
    /// The next ones.
    fn take(&self) -> Vec<Shard> {
        let mut rest = self.0.lock();
        if rest.is_empty() {
            rest.extend(Shards::DEFAULT.all());
            rest.shuffle(&mut rand::rng());
        }
        let keep = rest.len().saturating_sub(STEP_SHARDS);
        rest.split_off(keep)
    }
}

/// The user is to be looked at then, milliseconds; unless `exact`, no later than then.
pub fn enter(names: &Keys, user: UserId, at: u64, exact: bool) -> Words {
    let (key, at, user) = (names.looks(), at.to_string(), user.0.to_string());
    match exact {
        true => words(&[b"ZADD", key.as_bytes(), at.as_bytes(), user.as_bytes()]),
        false => words(&[b"ZADD", key.as_bytes(), b"LT", at.as_bytes(), user.as_bytes()]),
    }
}

/// Nothing is left of the user.
pub fn remove(names: &Keys, user: UserId) -> Vec<Words> {
    let [head, rows, timeline] = [names.head(user), names.rows(user), names.timeline(user)];
    let mut commands = vec![
        words(&[b"UNLINK", head.as_bytes(), rows.as_bytes(), timeline.as_bytes()]),
        words(&[b"ZREM", names.looks().as_bytes(), user.0.to_string().as_bytes()]),
    ];
    commands.extend(listed::leave(names, user));
    commands
}

impl Shared {
    /// Users of the next shards who have to be looked at. What is at a node that is away waits for it.
    pub async fn due(&self, now: u64) -> Result<Due, StoreError> {
        let mut shards = self.rota.take();
        shards.retain(|shard| self.redis.is_connected(*shard));
        shards.sort_unstable();
        let parts = joined::split(&self.redis, &mut shards, |shard| *shard, |_| 1).into_iter();
        let found = try_join_all(parts.map(|shards| self.due_in(shards, now))).await?;
        let users = found.into_iter().flatten().collect();
        Ok(Due { users, horizon: self.settings.retention.horizon(now) })
    }

    /// Of shards that may be asked together.
    async fn due_in(&self, shards: &[Shard], now: u64) -> Result<Vec<UserId>, StoreError> {
        let mut commands = pipe();
        for shard in shards {
            let command = commands.cmd("ZRANGEBYSCORE").arg(Keys::of(*shard).looks()).arg("-inf").arg(now);
            command.arg("LIMIT").arg(0).arg(USERS_MAX);
        }
        let mut users = Vec::new();
        for members in checked::ask(&self.redis, shards[0], commands).await? {
            // What is no user must not hide those behind it.
            users.extend(value::texts(members)?.iter().filter_map(|member| member.parse().ok()).map(UserId));
        }
        Ok(users)
    }
}
