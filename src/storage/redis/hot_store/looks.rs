//! The schedule of pruning: `{h}:x`, a sorted set in each shard of the users by the time of their next look.
//!
//! Every user with a head is in it, with a time no later than the first expiry among the user's rows. The entry is
//! written in one step with the head: with the first write of a user, with the first of each day, and with a clear. A
//! look ends with an entry for the next look, under the user's token. No row of a user expires by itself.

use ::redis::pipe;
use futures_util::future::try_join_all;
use parking_lot::Mutex;
use rand::seq::SliceRandom;

use super::claims::{Words, words};
use super::keys::Keys;
use super::{Shared, listed};
use crate::{checked, joined, value};
use model::ids::UserId;
use model::shard::{Shard, Shards};
use storage::hot_store::{Due, StoreError};

/// Shards that are asked in one step, and users of each: a shard with more due users is asked again.
const STEP_SHARDS: usize = 200;
const USERS_MAX: usize = 32;

/// The shards in a random order, so that gateways look at different ones.
#[derive(Default)]
pub struct Rota(Mutex<Vec<Shard>>);

impl Rota {
    /// The next shards to ask.
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

/// The command that schedules the next look at a user, at `at` milliseconds; unless `exact`, no later than that.
pub fn enter(names: &Keys, user: UserId, at: u64, exact: bool) -> Words {
    let (key, at, user) = (names.looks(), at.to_string(), user.0.to_string());
    match exact {
        true => words(&[b"ZADD", key.as_bytes(), at.as_bytes(), user.as_bytes()]),
        false => words(&[b"ZADD", key.as_bytes(), b"LT", at.as_bytes(), user.as_bytes()]),
    }
}

/// The commands that unschedule a user without rows.
pub fn remove(names: &Keys, user: UserId) -> Vec<Words> {
    let keys = [names.head(user), names.rows(user), names.timeline(user), names.cold_filter(user)];
    let [head, rows, timeline, filter] = keys.each_ref().map(String::as_bytes);
    let mut commands = vec![
        words(&[b"UNLINK", head, rows, timeline, filter]),
        words(&[b"ZREM", names.looks().as_bytes(), user.0.to_string().as_bytes()]),
    ];
    commands.extend(listed::leave(names, user));
    commands
}

impl Shared {
    /// Users of the next shards that are due for a look. Users on a node that is away wait for it.
    pub async fn due(&self, now: u64) -> Result<Due, StoreError> {
        let mut shards = self.rota.take();
        shards.retain(|shard| self.redis.is_connected(*shard));
        shards.sort_unstable();
        let parts = joined::split(&self.redis, &mut shards, |shard| *shard, |_| 1).into_iter();
        let found = try_join_all(parts.map(|shards| self.due_in(shards, now))).await?;
        let users = found.into_iter().flatten().collect();
        Ok(Due { users, horizon: self.settings.retention.horizon(now) })
    }

    /// The due users of shards that may be asked together.
    async fn due_in(&self, shards: &[Shard], now: u64) -> Result<Vec<UserId>, StoreError> {
        let mut commands = pipe();
        for shard in shards {
            let command = commands.cmd("ZRANGEBYSCORE").arg(Keys::of(*shard).looks()).arg("-inf").arg(now);
            command.arg("LIMIT").arg(0).arg(USERS_MAX);
        }
        let mut users = Vec::new();
        for members in checked::ask(&self.redis, shards[0], commands).await? {
            // A member that is not a user must not hide the members after it.
            users.extend(value::texts(members)?.iter().filter_map(|member| member.parse().ok()).map(UserId));
        }
        Ok(users)
    }
}
