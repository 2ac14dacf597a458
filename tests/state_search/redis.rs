//! A real Redis.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use heartline::model::ids::{Content, UserId};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::model::retention::Retention;
use heartline::model::rewards::claim::Claim;
use heartline::model::rewards::rewarding::Rewarding;
use heartline::model::shard::Shards;
use heartline::model::sums::SumKey;
use heartline::model::version::Version;
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::hot_store::StoreError;
use heartline::storage::hot_store::optimistic::{Applied, Apply, Load, Loaded, UserStore};
use heartline::storage::outbox::codec;
use heartline::storage_redis::hot_store::{RedisUsers, Settings};
use heartline::storage_redis::prepare::prepare;
use heartline::storage_redis::sums::keys::{pending, state};
use heartline::storage_redis::{Redis, tag};
use redis::{Client, Connection, cmd};
use tempfile::TempDir;
use tokio::runtime::{Handle, Runtime};

use crate::state_search::backing::{Backing, OnList};
use crate::state_search::redis_server::RedisServer;
use crate::state_search::scenario::USERS;

/// The least that an outbox holds.
const OUTBOX_MAX: usize = 1_024;

/// Removes all but the deployment, and fills outboxes as far as they are to be full.
const FRESH: &str = "
for _, key in ipairs(redis.call('KEYS', '*')) do
  if not key:find(':deployment$') then redis.call('DEL', key) end
end
for _, outbox in ipairs(KEYS) do
  for entry = 1, tonumber(ARGV[1]) do redis.call('ZADD', outbox, 0, 'filler ' .. entry) end
end";

pub struct OneRedis {
    redis: Redis,
    runtime: Handle,
    connection: Arc<Mutex<Connection>>,
    _server: RedisServer,
    _directory: TempDir,
}

/// The same server in each run.
pub struct OnRedis {
    users: Arc<RedisUsers>,
    connection: Arc<Mutex<Connection>>,
}

impl OneRedis {
    pub fn start(runtime: &Runtime) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let server = RedisServer::start(directory.path());
        let config = RedisConfig::strict(&server.url());
        prepare(&config).unwrap();
        let redis = Redis::open(&config).unwrap();
        let connection = Client::open(server.url()).unwrap().get_connection().unwrap();
        OneRedis {
            redis,
            runtime: runtime.handle().clone(),
            connection: Arc::new(Mutex::new(connection)),
            _server: server,
            _directory: directory,
        }
    }

    /// `outbox_max`: so many entries have room in each outbox.
    pub fn fresh(&self, outbox_max: usize) -> OnRedis {
        let mut eval = cmd("EVAL");
        eval.arg(FRESH).arg(USERS.len()).arg(&USERS.map(outbox)).arg(OUTBOX_MAX - outbox_max);
        eval.exec(&mut *self.connection.lock().unwrap()).unwrap();
        let settings = Settings {
            retention: Retention::of(Duration::from_hours(48)),
            records_per_user: NonZeroU32::MAX,
            user_cache: NonZeroUsize::MIN,
            history_interval: None,
            outbox_max: OUTBOX_MAX as u64,
            takeover_after: Duration::ZERO,
        };
        let users = RedisUsers::open(self.redis.clone(), settings, Arc::new(|_| false));
        let (users, _) = self.runtime.block_on(users).unwrap();
        OnRedis { users: Arc::new(users), connection: self.connection.clone() }
    }
}

impl OnRedis {
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap()
    }
}

fn outbox(user: UserId) -> String {
    format!("{}:o", tag(Shards::DEFAULT.of(user)))
}

impl UserStore for OnRedis {
    async fn load(&self, loads: &[Load]) -> Result<Vec<Loaded>, StoreError> {
        self.users.load(loads).await
    }

    async fn apply(&self, applies: &[&Apply]) -> Result<Vec<Applied>, StoreError> {
        self.users.apply(applies).await
    }

    async fn put_off(&self, users: &[(UserId, Version)], due: u64) -> Result<(), StoreError> {
        self.users.put_off(users, due).await
    }
}

impl Backing for OnRedis {
    async fn begin_day(&self, rewards: &Rewarding) {
        self.users.begin(rewards).await.unwrap();
    }

    async fn look(&self, user: UserId) -> Option<u64> {
        let key = format!("{}:x", tag(Shards::DEFAULT.of(user)));
        cmd("ZSCORE").arg(key).arg(user.0).query(&mut *self.connection()).unwrap()
    }

    async fn on_list(&self, user: UserId) -> OnList {
        let tag = tag(Shards::DEFAULT.of(user));
        let (list, marks) = (format!("{tag}:d"), format!("{tag}:p:{}", user.0));
        let due = cmd("ZSCORE").arg(list).arg(user.0).query(&mut *self.connection()).unwrap();
        let marks: Vec<Vec<u8>> = cmd("ZRANGE").arg(marks).arg(0).arg(-1).query(&mut *self.connection()).unwrap();
        let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let content = |mark: &Vec<u8>| Content { kind: number(&mark[..2]) as u16, oid: number(&mark[2..]) };
        let (all, contents): (Vec<_>, Vec<_>) = marks.into_iter().partition(|mark| mark == b"*");
        OnList { due, marks: contents.iter().map(content).collect(), all: !all.is_empty() }
    }

    async fn rows(&self, user: UserId) -> usize {
        let key = format!("{}:r:{}", tag(Shards::DEFAULT.of(user)), user.0);
        cmd("HLEN").arg(key).query(&mut *self.connection()).unwrap()
    }

    async fn outbox(&self, user: UserId) -> Vec<Claim> {
        let entries: Vec<Vec<u8>> =
            cmd("ZRANGE").arg(outbox(user)).arg(0).arg(-1).query(&mut *self.connection()).unwrap();
        let claims = entries.iter().filter_map(|entry| codec::decode(entry).ok().and_then(OutboxEntry::into_claim));
        claims.filter(|claim| claim.key.user == user).collect()
    }

    async fn views(&self, user: UserId) -> BTreeMap<SumKey, i64> {
        let shard = Shards::DEFAULT.of(user);
        let pending: BTreeMap<String, i64> = cmd("HGETALL").arg(pending(shard)).query(&mut *self.connection()).unwrap();
        let since: Option<u64> = cmd("HGET").arg(state(shard)).arg("since").query(&mut *self.connection()).unwrap();
        assert_eq!(pending.is_empty(), since.is_none(), "it is known since when anything is pending");
        pending.into_iter().map(|(key, views)| (key.parse().unwrap(), views)).collect()
    }

    async fn published(&self, claim: &Claim) {
        let mut remove = cmd("ZREM");
        remove.arg(outbox(claim.key.user)).arg(codec::encode(&OutboxEntry::Claim(claim.clone())));
        remove.exec(&mut *self.connection()).unwrap();
    }
}
