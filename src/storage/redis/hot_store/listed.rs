//! The list of users whose changes are to be carried to the history store: `{h}:d`, in each shard a sorted set of users
//! by due time. The marks of a user are in `{h}:p:<mid>`: contents by versions.
//!
//! A version stays below 2^53 until the year 2255, so that a score holds it exactly.

use std::time::Duration;

use ::redis::{Pipeline, Value, pipe};
use futures_util::future::{BoxFuture, join_all, try_join_all};

use super::bytes::DecodeError;
use super::claims::{Words, words};
use super::keys::{self, Keys};
use super::users::RedisUsers;
use super::{RedisStore, Shared, head};
use crate::{checked, joined, lease, value};
use model::ids::UserId;
use model::shard::{Region, Shard, Shards};
use model::version::Version;
use storage::hot_store::listed_users::{ListedUsers, Waiting};
use storage::hot_store::optimistic::{ListedUser, Marked, Relist, Write, list, read_listed, unlist};
use storage::hot_store::{Answer, StoreError};
use storage::turn::Turn;

/// A mark that stands for all contents.
const ALL: &[u8] = b"*";
/// Users that are read in one step.
pub(super) const STEP_USERS: usize = 256;
/// The cursor of a scan that begins, and of one that has ended.
pub(super) const FIRST: &str = "0";
/// Shards that are asked in one step.
const STEP_SHARDS: usize = 100;

/// The commands that list a user or mark a content; empty for the step that clears the bit: see [`leave`].
pub fn commands(names: &Keys, user: UserId, write: &Write) -> Vec<Words> {
    let mid = user.0.to_string();
    match write {
        Write::List { due } => {
            vec![words(&[b"ZADD", names.listed().as_bytes(), b"LT", due.to_string().as_bytes(), mid.as_bytes()])]
        }
        Write::Mark { content, version } => {
            let content = content.map(keys::content);
            let member = content.as_ref().map_or(ALL, |content| content);
            vec![words(&[b"ZADD", names.marks(user).as_bytes(), version.0.to_string().as_bytes(), member])]
        }
        _ => Vec::new(),
    }
}

/// The commands that take a user off the list.
pub fn leave(names: &Keys, user: UserId) -> Vec<Words> {
    vec![
        words(&[b"ZREM", names.listed().as_bytes(), user.0.to_string().as_bytes()]),
        words(&[b"UNLINK", names.marks(user).as_bytes()]),
    ]
}

/// Parses the members of the marks.
pub fn parse(answer: Value) -> Result<Marked, DecodeError> {
    let mut marked = Marked::default();
    for member in value::array(answer)? {
        match value::bytes(member)? {
            all if all == ALL => marked.all = true,
            content => marked.contents.push(keys::content_of(&content).ok_or(DecodeError("marks"))?),
        }
    }
    Ok(marked)
}

impl Shared {
    async fn due_of(&self, region: Region, now: u64, limit: usize) -> Result<Vec<UserId>, StoreError> {
        let mut shards: Vec<Shard> = region.shards().filter(|shard| self.redis.is_connected(*shard)).collect();
        let parts = joined::split(&self.redis, &mut shards, |shard| *shard, |_| 1).into_iter();
        let found = join_all(parts.map(async |shards| {
            let mut commands = pipe();
            for shard in shards.iter() {
                let command = commands.cmd("ZRANGEBYSCORE").arg(Keys::of(*shard).listed()).arg("-inf").arg(now);
                command.arg("LIMIT").arg(0).arg(limit);
            }
            checked::ask(&self.redis, shards[0], commands).await
        }));
        let (mut users, mut failed) = (Vec::new(), None);
        for members in found.await {
            match members {
                Ok(members) => {
                    for members in members {
                        users
                            .extend(value::texts(members)?.iter().filter_map(|member| member.parse().ok()).map(UserId));
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        users.truncate(limit);
        match failed {
            Some(error) if users.is_empty() => Err(error),
            _ => Ok(users),
        }
    }

    async fn waiting_all(&self) -> Result<Waiting, StoreError> {
        let mut waiting = Waiting::default();
        let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
        for shards in shards.chunks_mut(STEP_SHARDS) {
            let parts = joined::split(&self.redis, shards, |shard| *shard, |_| 1).into_iter();
            let counted = parts.map(async |shards| {
                let mut commands = pipe();
                for shard in shards.iter() {
                    let listed = Keys::of(*shard).listed();
                    commands.zcard(&listed).zrange_withscores(&listed, 0, 0);
                }
                checked::ask(&self.redis, shards[0], commands).await
            });
            let mut answers = try_join_all(counted).await?.into_iter().flatten();
            while let (Some(count), Some(first)) = (answers.next(), answers.next()) {
                waiting.users += value::number(count)?;
                let first = value::texts(first)?.pop().and_then(|score| score.parse::<f64>().ok());
                waiting.oldest_due = waiting.oldest_due.into_iter().chain(first.map(|score| score as u64)).min();
            }
        }
        Ok(waiting)
    }

    async fn take_walk(&self, since: u64, lasts: Duration) -> Result<Turn, StoreError> {
        let names = Keys::of(keys::COMMON);
        self.take_unless_done(keys::COMMON, (&names.walk(), &names.walked()), since, lasts).await
    }

    /// Takes the lease of a job, unless the job was done after a begin at `since` or later.
    pub(super) async fn take_unless_done(
        &self,
        shard: Shard,
        (lease, done): (&str, &str),
        since: u64,
        lasts: Duration,
    ) -> Result<Turn, StoreError> {
        let mut commands = pipe();
        commands.get(done);
        let began = checked::ask(&self.redis, shard, commands).await?.pop();
        let began = began.map(value::bytes_or_nil).transpose()?.flatten();
        let began = began.and_then(|text| std::str::from_utf8(&text).ok()?.parse::<u64>().ok());
        if began.is_some_and(|began| began >= since) {
            return Ok(Turn::Done);
        }
        lease::take(&self.redis, shard, lease, &self.name, lasts).await
    }

    /// Lists users of the shard with all their rows. Returns the number of users listed.
    pub(super) async fn list_shard(&self, shard: Shard, which: Relist, now: u64) -> Result<u64, StoreError> {
        let (mut next, mut listed) = (Some(FIRST.to_owned()), 0);
        while let Some(cursor) = next {
            let (users, after) = self.scan(shard, &cursor).await?;
            for users in users.chunks(STEP_USERS) {
                // One byte of a head says whether it is read as a whole.
                let meant = match which {
                    Relist::Unknown => self.unknown_among(shard, users).await?,
                    Relist::All => users.to_vec(),
                };
                listed += list(self.users.store(), &self.packing, &meant, which, now).await?;
            }
            next = after;
        }
        Ok(listed)
    }

    /// Some users of the shard, and the cursor of the next ones.
    pub(super) async fn scan(&self, shard: Shard, cursor: &str) -> Result<(Vec<UserId>, Option<String>), StoreError> {
        let mut commands = pipe();
        commands.cmd("ZSCAN").arg(Keys::of(shard).looks()).arg(cursor).arg("COUNT").arg(STEP_USERS);
        let answer = checked::ask(&self.redis, shard, commands).await?.pop().unwrap_or(Value::Nil);
        let mut parts = value::array(answer)?.into_iter();
        let mut part = || parts.next().unwrap_or(Value::Nil);
        let next = String::from_utf8(value::bytes(part())?).unwrap_or_default();
        let members = value::texts(part())?;
        let users = members.iter().step_by(2).filter_map(|member| member.parse().ok()).map(UserId).collect();
        Ok((users, Some(next).filter(|next| !next.is_empty() && next != FIRST)))
    }

    async fn unknown_among(&self, shard: Shard, users: &[UserId]) -> Result<Vec<UserId>, StoreError> {
        let (names, at) = (Keys::of(shard), head::LISTING_AT as isize);
        let mut commands = Pipeline::new();
        for user in users {
            commands.getrange(names.head(*user), at, at);
        }
        let answers = checked::ask(&self.redis, shard, commands).await?;
        let is_unknown = |answer: Value| value::bytes(answer).is_ok_and(|byte| head::is_unknown(&byte));
        Ok(users.iter().zip(answers).filter(|(_, answer)| is_unknown(answer.clone())).map(|(user, _)| *user).collect())
    }

    async fn end_walk(&self, began: u64) -> Result<(), StoreError> {
        let names = Keys::of(keys::COMMON);
        self.done(keys::COMMON, (&names.walk(), &names.walked()), began).await
    }

    pub(super) async fn done(&self, shard: Shard, (lease, done): (&str, &str), began: u64) -> Result<(), StoreError> {
        let mut commands = pipe();
        commands.set(done, began).del(lease);
        checked::ask(&self.redis, shard, commands).await.map(drop)
    }
}

impl RedisUsers {
    pub(super) async fn put_off_all(&self, mut users: Vec<(UserId, Version)>, due: u64) -> Result<(), StoreError> {
        let shard = |(user, _): &(UserId, Version)| keys::shard_of(*user);
        users.sort_by_key(shard);
        let parts = joined::split(&self.redis, &mut users, shard, |_| 1).into_iter();
        try_join_all(parts.map(async |part| {
            let mut commands = pipe();
            for of_shard in part.chunk_by(|one, other| shard(one) == shard(other)) {
                let names = Keys::of(shard(&of_shard[0]));
                for (user, version) in of_shard.iter().filter(|(_, version)| *version > Version::NONE) {
                    commands.cmd("ZREMRANGEBYSCORE").arg(names.marks(*user)).arg("-inf").arg(version.0);
                }
                commands.cmd("ZADD").arg(names.listed()).arg("XX");
                for (user, _) in of_shard {
                    commands.arg(due).arg(user.0);
                }
            }
            let answers = checked::ask(&self.redis, shard(&part[0]), commands).await?;
            answers.into_iter().try_for_each(|answer| value::number(answer).map(drop))?;
            Ok::<_, StoreError>(())
        }))
        .await?;
        Ok(())
    }
}

impl RedisStore {
    pub(super) fn with<T>(
        &self,
        ask: impl for<'s> FnOnce(&'s Shared) -> BoxFuture<'s, Result<T, StoreError>> + Send + 'static,
    ) -> Answer<T>
    where
        T: Send + 'static,
    {
        let shared = self.shared.clone();
        Box::pin(async move { ask(&shared).await })
    }
}

impl ListedUsers for RedisStore {
    fn take(&self, region: Region, lasts: Duration) -> Answer<Turn> {
        let shard = Shard(region.0);
        self.with(move |shared| {
            let key = Keys::of(shard).pack();
            Box::pin(async move { lease::take(&shared.redis, shard, &key, &shared.name, lasts).await })
        })
    }

    fn due(&self, region: Region, now: u64, limit: usize) -> Answer<Vec<UserId>> {
        self.with(move |shared| Box::pin(shared.due_of(region, now, limit)))
    }

    fn read(&self, users: Vec<UserId>) -> Answer<Vec<ListedUser>> {
        self.with(move |shared| Box::pin(async move { read_listed(shared.users.store(), &users).await }))
    }

    fn unlist(&self, users: Vec<ListedUser>, now: u64) -> Answer<Vec<bool>> {
        self.with(move |shared| {
            Box::pin(async move { unlist(shared.users.store(), &shared.packing, &users, now).await })
        })
    }

    fn put_off(&self, users: Vec<(UserId, Version)>, due: u64) -> Answer<()> {
        self.with(move |shared| Box::pin(shared.users.store().put_off_all(users, due)))
    }

    fn waiting(&self) -> Answer<Waiting> {
        self.with(|shared| Box::pin(shared.waiting_all()))
    }

    fn take_walk(&self, since: u64, lease: Duration) -> Answer<Turn> {
        self.with(move |shared| Box::pin(shared.take_walk(since, lease)))
    }

    fn list_unknown(&self, shard: Shard, now: u64) -> Answer<u64> {
        self.with(move |shared| Box::pin(shared.list_shard(shard, Relist::Unknown, now)))
    }

    fn end_walk(&self, began: u64) -> Answer<()> {
        self.with(move |shared| Box::pin(shared.end_walk(began)))
    }
}
