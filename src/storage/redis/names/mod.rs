//! The names of users in the Redis that gateways share.
//!
//! A name and its number are in shards of their own, so a new name is stored in two steps: first the text under a number
//! of this process's block, then the number under the hash, unless another process was first. Its number counts then, and
//! the own one is never used. A process that dies between the steps leaves a text that no name finds.

mod keys;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use ::redis::{Script, pipe};
use futures_util::future::try_join_all;
use parking_lot::Mutex;

use self::keys::Entry;
use crate::script::script;
use crate::value::{self, DecodeError};
use crate::{Call, Redis, checked};
use model::ids::UserId;
use model::shard::{Shard, Shards};
use model::user_name::{UserName, UserNameHash, UserNameKey};
use storage::names::{NameText, Names, Numbered};
use storage::store_error::{Answer, StoreError};

static PUT: LazyLock<Script> = LazyLock::new(|| script(include_str!("put.lua")));
static BLOCK: LazyLock<Script> = LazyLock::new(|| script(include_str!("block.lua")));

/// Numbers that a process takes at once. What it has not given when it ends is never used.
const BLOCK_NUMBERS: u64 = 64;
/// Names or numbers that are asked for in one command.
const TOGETHER_MAX: usize = 512;

/// Cheap to clone.
#[derive(Clone)]
pub struct RedisNames {
    shared: Arc<Shared>,
}

struct Shared {
    redis: Redis,
    key: UserNameKey,
    /// Numbers of this process that were not given yet.
    block: Mutex<Range<u64>>,
}

impl RedisNames {
    /// Whether they were ever opened here.
    pub async fn are_kept(redis: &Redis) -> Result<bool, StoreError> {
        let mut commands = pipe();
        commands.exists(keys::key());
        Ok(value::number(checked::ask(redis, keys::COMMON, commands).await?.swap_remove(0))? > 0)
    }

    /// Makes the key of the hashes if this is the first process of the deployment.
    pub async fn open(redis: Redis) -> Result<Self, StoreError> {
        let mut commands = pipe();
        commands.get(keys::key());
        let stored = value::bytes_or_nil(checked::ask(&redis, keys::COMMON, commands).await?.swap_remove(0))?;
        let stored = match stored {
            Some(stored) => stored,
            None => {
                let mut commands = pipe();
                commands.cmd("SET").arg(keys::key()).arg(format!("{:032x}", rand::random::<u128>())).arg("NX");
                commands.get(keys::key());
                value::bytes(checked::ask(&redis, keys::COMMON, commands).await?.swap_remove(1))?
            }
        };
        let key = std::str::from_utf8(&stored).ok().and_then(|digits| u128::from_str_radix(digits, 16).ok());
        let key = UserNameKey::new(&key.ok_or(DecodeError("the key of names"))?.to_be_bytes());
        Ok(RedisNames { shared: Arc::new(Shared { redis, key, block: Mutex::new(0..0) }) })
    }
}

impl Names for RedisNames {
    fn number(&self, name: UserName) -> Answer<UserId> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.number(&name).await })
    }

    fn numbers(&self, names: Vec<UserName>) -> Answer<Vec<Option<Numbered>>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let hashes: Vec<_> = names.iter().map(|name| shared.key.hash(name)).collect();
            let found = shared
                .read(&hashes, |hash| Shards::DEFAULT.of_name(hash), keys::names, |hash| hash.bytes().to_vec())
                .await?;
            let number =
                |entry: Option<Vec<u8>>| Ok(entry.map(|entry| Entry::parse(&entry)).transpose()?.map(Numbered::from));
            found.into_iter().map(number).collect()
        })
    }

    fn texts(&self, users: Vec<UserId>) -> Answer<Vec<Option<NameText>>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            let shard = |user: &UserId| Shards::DEFAULT.of(*user);
            let found = shared.read(&users, shard, keys::texts, |user| user.0.to_string().into_bytes()).await?;
            found.into_iter().map(|text| Ok(text.map(|text| name_text(&text)).transpose()?)).collect()
        })
    }

    fn drop_text(&self, user: UserId) -> Answer<()> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.drop_text(user).await })
    }
}

impl Shared {
    async fn number(&self, name: &UserName) -> Result<UserId, StoreError> {
        let hash = self.key.hash(name);
        match self.entry(&hash).await? {
            Some(Entry { user, dropped: false }) => Ok(user),
            Some(Entry { user, dropped: true }) => self.welcome_again(name, &hash, user).await,
            None => self.give(name, &hash).await,
        }
    }

    async fn entry(&self, hash: &UserNameHash) -> Result<Option<Entry>, StoreError> {
        let shard = Shards::DEFAULT.of_name(hash);
        let mut commands = pipe();
        commands.hget(keys::names(shard), hash.bytes());
        let entry = value::bytes_or_nil(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        Ok(entry.map(|entry| Entry::parse(&entry)).transpose()?)
    }

    /// Gives the name a number, unless another process was first.
    async fn give(&self, name: &UserName, hash: &UserNameHash) -> Result<UserId, StoreError> {
        let user = loop {
            let user = self.next().await?;
            // A number that is there was given before the store was restored from an older backup.
            let is_free = self.texts_of(user).await?.is_none();
            if is_free && self.put_text(user, name.as_str(), true).await? == name.as_str().as_bytes() {
                break user;
            }
        };
        let given = self.put_entry(hash, Entry { user, dropped: false }, true).await?;
        if given.user != user {
            self.put_text(user, "", false).await?;
        }
        match given.dropped {
            true => self.welcome_again(name, hash, given.user).await,
            false => Ok(given.user),
        }
    }

    /// The text first: a process that dies in between leaves an entry that says that it is dropped.
    async fn welcome_again(&self, name: &UserName, hash: &UserNameHash, user: UserId) -> Result<UserId, StoreError> {
        self.put_text(user, name.as_str(), false).await?;
        self.put_entry(hash, Entry { user, dropped: false }, false).await?;
        Ok(user)
    }

    /// The entry first, for the same reason. A user who was welcomed meanwhile has a text again at the end.
    async fn drop_text(&self, user: UserId) -> Result<(), StoreError> {
        let Some(NameText::Known(name)) = self.texts_of(user).await? else { return Ok(()) };
        let hash = self.key.hash(&name);
        self.put_entry(&hash, Entry { user, dropped: true }, false).await?;
        self.put_text(user, "", false).await?;
        match self.entry(&hash).await? {
            Some(Entry { dropped: false, .. }) => self.put_text(user, name.as_str(), false).await.map(drop),
            _ => Ok(()),
        }
    }

    async fn texts_of(&self, user: UserId) -> Result<Option<NameText>, StoreError> {
        let shard = Shards::DEFAULT.of(user);
        let mut commands = pipe();
        commands.hget(keys::texts(shard), user.0);
        let text = value::bytes_or_nil(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
        Ok(text.map(|text| name_text(&text)).transpose()?)
    }

    async fn next(&self) -> Result<UserId, StoreError> {
        loop {
            if let Some(number) = self.block.lock().next() {
                return Ok(UserId(number));
            }
            let args = vec![self.deployment(), BLOCK_NUMBERS.to_string().into_bytes()];
            let last = self.redis.run(&BLOCK, vec![Call::of(keys::COMMON, args)]).await?.swap_remove(0);
            let last = value::number(last)?;
            // Another task may have taken a block meanwhile: its rest is not used.
            *self.block.lock() = last - BLOCK_NUMBERS + 1..last + 1;
        }
    }

    async fn put_text(&self, user: UserId, text: &str, new: bool) -> Result<Vec<u8>, StoreError> {
        let (shard, field) = (Shards::DEFAULT.of(user), user.0.to_string().into_bytes());
        self.put(shard, keys::TEXTS, field, text.as_bytes().to_vec(), new).await
    }

    async fn put_entry(&self, hash: &UserNameHash, entry: Entry, new: bool) -> Result<Entry, StoreError> {
        let (shard, field) = (Shards::DEFAULT.of_name(hash), hash.bytes().to_vec());
        Ok(Entry::parse(&self.put(shard, keys::NAMES, field, entry.encode(), new).await?)?)
    }

    /// The value that is there now.
    async fn put(
        &self,
        shard: Shard,
        key: &str,
        field: Vec<u8>,
        value: Vec<u8>,
        new: bool,
    ) -> Result<Vec<u8>, StoreError> {
        let mode = if new { "new" } else { "" };
        let args = vec![self.deployment(), key.as_bytes().to_vec(), field, value, mode.as_bytes().to_vec()];
        let answer = self.redis.run(&PUT, vec![Call::of(shard, args)]).await?.swap_remove(0);
        Ok(value::bytes(answer)?)
    }

    /// The fields of many shards, in the order asked.
    async fn read<T>(
        &self,
        asked: &[T],
        shard: impl Fn(&T) -> Shard,
        key: impl Fn(Shard) -> String,
        field: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let mut of_shards = BTreeMap::<Shard, Vec<usize>>::new();
        asked.iter().enumerate().for_each(|(index, one)| of_shards.entry(shard(one)).or_default().push(index));
        let parts =
            of_shards.iter().flat_map(|(shard, indexes)| indexes.chunks(TOGETHER_MAX).map(|part| (*shard, part)));
        let read = parts.map(async |(shard, part)| {
            let mut commands = pipe();
            commands
                .cmd("HMGET")
                .arg(key(shard))
                .arg(part.iter().map(|index| field(&asked[*index])).collect::<Vec<_>>());
            let values = value::array(checked::ask(&self.redis, shard, commands).await?.swap_remove(0))?;
            let values = values.into_iter().map(value::bytes_or_nil).collect::<Result<Vec<_>, _>>()?;
            match values.len() == part.len() {
                true => Ok(part.iter().copied().zip(values).collect::<Vec<_>>()),
                false => Err(StoreError::from(DecodeError("fields of names"))),
            }
        });
        let mut found: Vec<Option<Vec<u8>>> = asked.iter().map(|_| None).collect();
        for (index, value) in try_join_all(read).await?.into_iter().flatten() {
            found[index] = value;
        }
        Ok(found)
    }

    fn deployment(&self) -> Vec<u8> {
        self.redis.deployment().as_bytes().to_vec()
    }
}

fn name_text(text: &[u8]) -> Result<NameText, DecodeError> {
    if text.is_empty() {
        return Ok(NameText::Dropped);
    }
    let name = std::str::from_utf8(text).ok().and_then(|text| UserName::new(text).ok());
    name.map(NameText::Known).ok_or(DecodeError("the name of a user"))
}
