//! The hot store in a Redis that several gateways share.
//!
//! ```text
//! a group  → [`optimistic`] decides → a script call, in a Cluster for each shard, compares and writes → one fsync → outcomes
//!            heads that change alone, where the server can: `SET … IFEQ`
//! a read   → a pipeline, checked against the head where it must be a snapshot → answer
//! claims   → with the record, by the same call: a set, a hash or a filter, and the outbox
//! ```
//!
//! [`optimistic`]: super::optimistic
//!
//! **Durability.** That of Redis: with `appendfsync always` what a script has written is on disk before it is answered,
//! all of it or, if the machine dies in the middle, nothing.
//!
//! **Failure.** Every error is [`StoreError::Away`]: whether the script has run is not known, and the group is
//! committed again until it is: a head that lists the call's token has it already. A claim whose making was not
//! answered, because the gateway ended, is found in the outbox by the gateway that takes over what others have left
//! there.
//!
//! **A Redis that was wiped** is no empty store: every script checks the key that `heartline init` has written, and so
//! does every read. A [`swap`] need not.
//!
//! **Memory.** Of Redis 7.0 with the file of `deploy/redis`, measured with a device's name of five bytes:
//!
//! | what | bytes |
//! |---|---|
//! | a content of a user who has 10 | 115 |
//! | of one who has 100 | 89 |
//! | of one who has more than 128 | 215 to 242 |
//! | a claim by a rule per user, up to 16,384 in a shard | 4 if ids are dense, 5 to 9 if they are random |
//! | a claim by an exact rule per content, of a user who has 50 that day | 13 |
//! | a shard's filter of a rule with a million expected claims a day at 0.01 | 1,905 |
//!
//! Up to `hash-max-listpack-entries` and `zset-max-listpack-entries` a user's rows are one piece of memory that is
//! looked through. With 512 instead of 128 a user with 300 contents takes 93 bytes for each, and a beat of theirs half
//! as much CPU again. A row is some 50 bytes and the device's name: longer ones than `hash-max-listpack-value` take the
//! user's rows out of that piece, all of them and for good.
//!
//! This process holds claims it has to publish, and the heads of users who were here lately.

mod apply;
mod bytes;
mod calendar;
mod checked;
mod claims;
mod commit;
mod filter;
pub mod head;
mod joined;
mod keys;
mod lease;
mod list;
mod listed;
mod load;
mod looks;
mod outbox;
mod reads;
pub mod row;
mod rules_of_day;
mod scripts;
mod swap;
mod timeline;
mod users;
mod value;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use self::calendar::StoreCalendar;
use self::looks::Rota;
use self::outbox::OutboxQueue;
pub use self::users::RedisUsers;
use super::optimistic::{Limits, Metrics, Optimistic, TokenSource};
use super::{Answer, Claims, Committed, Due, Group, Positions, StoreClock, StoreError, UserStatus};
use crate::model::ids::{Content, UserId};
use crate::model::page::{Page, PageRequest};
use crate::model::record::Record;
use crate::model::retention::Retention;
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rewards::claim::ClaimKey;
use crate::model::rewards::day::Day;
use crate::model::rows_read::RowsRead;
use crate::model::shard::{Shard, Shards};
use crate::storage::redis::Redis;

/// Groups of a lane that are under way at one time: while Redis syncs one the next is there to be read.
const GROUPS_MAX: usize = 4;

/// Whether this gateway itself follows a user's changes, that is, has subscribed to them for a connection of that user.
pub type IsSubscribed = Arc<dyn Fn(UserId) -> bool + Send + Sync>;

/// What is kept, and how long.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Milliseconds.
    pub retention: Retention,
    /// Contents kept of one user.
    pub records_per_user: NonZeroU32,
    /// Users whose heads are remembered.
    pub user_cache: NonZeroUsize,
    /// From a user's first change to when it is due to be carried to the history store; `None`: it is not carried.
    pub history_interval: Option<Duration>,
    /// Entries of all outboxes together; a shard takes its share.
    pub outbox_max: u64,
    /// Age at which a claim that another gateway has made is published by this one. 0 = at once, even if another
    /// gateway does so, too.
    pub takeover_after: Duration,
}

/// To be used within a tokio runtime that has its timer on.
pub struct RedisStore {
    shared: Arc<Shared>,
    stored: Option<StoredCalendar>,
}

struct Shared {
    redis: Redis,
    settings: Settings,
    calendar: Arc<StoreCalendar>,
    outbox: OutboxQueue,
    users: Optimistic<RedisUsers>,
    /// Of what takes users off the list. Not those of the commits: of an unknown commit a newer token of its writer
    /// says that it was done.
    packing: TokenSource,
    rota: Rota,
    /// Tells this process from others, where it holds something.
    name: String,
}

impl Settings {
    /// A gateway that lives has published what it claimed long before.
    pub const TAKEOVER_AFTER: Duration = Duration::from_secs(15);

    /// A frame of one user, all of it in one shard, may claim as often as it has beats.
    const OUTBOX_PER_SHARD_MIN: u64 = 1_024;

    fn outbox_per_shard(&self) -> u64 {
        Shards::DEFAULT.share(self.outbox_max).max(Self::OUTBOX_PER_SHARD_MIN)
    }
}

impl RedisStore {
    pub async fn open(redis: Redis, settings: Settings, follows: IsSubscribed) -> Result<Self, StoreError> {
        let (users, stored) = RedisUsers::open(redis.clone(), settings.clone(), follows).await?;
        let calendar = users.calendar.clone();
        let limits = Limits {
            retention: settings.retention,
            contents_max: settings.records_per_user.get(),
            history_interval: settings.history_interval.map(|interval| interval.as_millis() as u64),
        };
        let (tokens, user_cache) = (TokenSource::new(rand::random()), settings.user_cache);
        let users = Optimistic::new(users, limits, tokens, user_cache);
        let (packing, outbox, rota) = (TokenSource::new(rand::random()), OutboxQueue::new(), Rota::default());
        let name = format!("{:016x}", rand::random::<u64>());
        let shared = Shared { redis, settings, calendar, outbox, users, packing, rota, name };
        Ok(RedisStore { shared: Arc::new(shared), stored })
    }

    /// What is counted of commits.
    pub fn metrics(&self) -> &Metrics {
        self.shared.users.metrics()
    }

    /// The newest day of the rewards on which anything was committed before the store was opened.
    pub fn calendar(&self) -> Option<&StoredCalendar> {
        self.stored.as_ref()
    }
}

impl Positions for RedisStore {
    fn commit<'a>(&'a self, group: &'a Group) -> BoxFuture<'a, Result<Committed, StoreError>> {
        Box::pin(self.shared.commit(group))
    }

    fn lanes(&self) -> usize {
        self.shared.redis.lanes()
    }

    fn lane(&self, shard: Shard) -> usize {
        self.shared.redis.lane(shard)
    }

    fn is_connected(&self, shard: Shard) -> bool {
        self.shared.redis.is_connected(shard)
    }

    fn groups_max(&self) -> usize {
        GROUPS_MAX
    }

    fn due(&self, now: u64) -> Answer<Due> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.due(now).await })
    }

    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Vec<Option<Record>>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.get(user, &contents, now).await })
    }

    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.list(user, &request, now, &rows).await })
    }

    fn paused(&self, user: UserId) -> Answer<bool> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.paused(user).await })
    }
}

impl Claims for RedisStore {
    fn user_status(&self, user: UserId, day: Day) -> Answer<UserStatus> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.user_status(user, day).await })
    }

    fn claims_of(&self, user: UserId, day: Day, limit: usize) -> Answer<Vec<ClaimKey>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.claims_of(user, day, limit).await })
    }

    fn claims_in(&self, shard: Shard, day: Day) -> Answer<Vec<ClaimKey>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.claims_in(shard, day).await })
    }
}

impl StoreClock for RedisStore {
    fn time(&self) -> Answer<Option<u64>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.redis.time().await.map(Some) })
    }
}
