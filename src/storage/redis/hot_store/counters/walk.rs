//! The count of all records, user by user.

use ::redis::{Value, pipe};
use futures_util::future::try_join_all;

use crate::hot_store::keys::Keys;
use crate::hot_store::users::RedisUsers;
use crate::{Redis, checked, joined, value};
use model::ids::UserId;
use model::shard::{Shard, Shards};
use storage::hot_store::StoreError;
use storage::hot_store::optimistic::{TokenSource, count};

/// Users that are looked at in one step.
const STEP_USERS: usize = 64;

/// Counts the users of a shard who are not in the next generation yet. Returns the number of its users.
///
/// Every user with a head is in the set that is scanned, and a new one belongs to the next generation from the start.
pub async fn shard(users: &RedisUsers, tokens: &TokenSource, shard: Shard, now: u64) -> Result<u64, StoreError> {
    let (mut cursor, mut counted) = ("0".to_owned(), 0);
    loop {
        let mut commands = pipe();
        commands.cmd("ZSCAN").arg(Keys::of(shard).looks()).arg(&cursor).arg("COUNT").arg(STEP_USERS);
        let answer = checked::ask(&users.redis, shard, commands).await?.pop().unwrap_or(Value::Nil);
        let mut parts = value::array(answer)?.into_iter();
        let mut part = || parts.next().unwrap_or(Value::Nil);
        cursor = String::from_utf8(value::bytes(part())?).unwrap_or_default();
        let members = value::texts(part())?;
        let mut found: Vec<UserId> =
            members.iter().step_by(2).filter_map(|member| member.parse().ok()).map(UserId).collect();
        // A scan may return a member twice.
        found.sort_unstable();
        found.dedup();
        for found in found.chunks(STEP_USERS) {
            count(users, tokens, found, now).await?;
            counted += found.len() as u64;
        }
        if cursor == "0" || cursor.is_empty() {
            return Ok(counted);
        }
    }
}

/// The shards that have users, with their numbers of users.
pub async fn shards(redis: &Redis) -> Result<Vec<(Shard, u64)>, StoreError> {
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let counted = parts.into_iter().map(async |shards| {
        let mut commands = pipe();
        for shard in shards.iter() {
            commands.zcard(Keys::of(*shard).looks());
        }
        let counts = checked::ask(redis, shards[0], commands).await?;
        let mut found = Vec::with_capacity(shards.len());
        for (shard, count) in shards.iter().zip(counts) {
            found.push((*shard, value::number(count)?));
        }
        Ok::<_, StoreError>(found)
    });
    let mut found = try_join_all(counted).await?.concat();
    found.retain(|(_, users)| *users > 0);
    Ok(found)
}
