//! The hot store in a Redis that several gateways share.
//!
//! ```text
//! a group  → [`optimistic`] decides → a script call, in a Cluster for each shard, compares and writes → one fsync → outcomes
//!            if only the head changes, and the server supports it: `SET … IFEQ`
//! a read   → a pipeline, checked against the head where it must be a snapshot → answer
//! claims   → with the record, by the same call: a set, a hash or a filter, and the outbox
//! views    → with the record, too: a hash, and the pending sums of the user's shard
//! ```
//!
//! [`optimistic`]: storage::hot_store::optimistic
//!
//! **Durability.** The durability of Redis: with `appendfsync always` the writes of a script are on disk before it is
//! answered. If the machine dies in the middle, all of them are, or none.
//!
//! **Failure.** Every error is [`StoreError::Away`], after which it is unknown whether the script has run. The group is
//! committed again until that is known: a head that lists the call's token has been written already. If a gateway ends
//! before its claim was answered, another gateway finds the claim in the outbox and takes it over.
//!
//! **A wiped Redis** is not taken for an empty store: every script and every read checks the key that `heartline init`
//! has written. A [`swap`] does not need that check.
//!
//! **Memory.** Of Redis 7.0 with the file of `deploy/redis`, measured with a device's name of five bytes:
//!
//! | what | bytes |
//! |---|---|
//! | a content of a user with 10 contents | 115 |
//! | a content of a user with 100 | 89 |
//! | a content of a user with more than 128 | 215 to 242 |
//! | a claim by a rule per user, up to 16,384 in a shard | 4 if ids are dense, 5 to 9 if they are random |
//! | a claim by an exact rule per content, of a user who has 50 that day | 13 |
//! | a shard's filter of a rule with a million expected claims a day at 0.01 | 1,905 |
//!
//! Up to `hash-max-listpack-entries` and `zset-max-listpack-entries`, a user's rows are one block of memory that is
//! searched from the start. With 512 instead of 128, a user with 300 contents takes 93 bytes for each, and each of the
//! user's beats takes half as much CPU again. A row takes some 50 bytes and the device's name. One row longer than
//! `hash-max-listpack-value` takes all rows of the user out of that block, permanently.
//!
//! This process keeps in memory the claims it has to publish, and the heads of recent users.

mod apply;
mod bytes;
mod calendar;
mod claims;
mod commit;
mod counters;
mod filter;
mod generations;
pub mod head;
mod keys;
mod list;
mod listed;
mod load;
mod looks;
mod notices;
mod outbox;
mod reads;
mod refill;
pub mod row;
mod rules_of_day;
mod scripts;
mod stored_users;
mod swap;
mod timeline;
mod trimming;
mod unread;
mod users;
mod walk;

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

use self::calendar::StoreCalendar;
pub use self::counters::{CounterWorker, RedisCounters};
use self::looks::Rota;
use self::notices::NoticeLooks;
use self::outbox::OutboxQueue;
pub(crate) use self::refill::{refill, refilled_generations};
use self::stored_users::Walk;
pub use self::users::RedisUsers;
use crate::Redis;
use model::ids::{Content, UserId};
use model::outbox_entry::OutboxEntry;
use model::page::{Page, PageRequest, UsersRequest};
use model::recording::Switch;
use model::retention::Retention;
use model::rewards::calendar::StoredCalendar;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rows_read::RowsRead;
use model::shard::{Shard, Shards};
use model::walk::{WalkRequest, Walked};
use storage::hot_store::optimistic::{Limits, Metrics, Optimistic, TokenSource};
use storage::hot_store::{
    Answer, Claims, Committed, Due, Found, Group, Positions, StoreClock, StoreError, StoredUsers, UserStatus,
};

/// Groups of a lane in flight: while Redis syncs one, it can read the next.
const GROUPS_MAX: usize = 4;

/// Whether this gateway itself follows a user's changes, that is, has subscribed to them for a connection of that user.
pub type IsSubscribed = Arc<dyn Fn(UserId) -> bool + Send + Sync>;

/// The limits of the store.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Milliseconds.
    pub retention: Retention,
    /// Contents kept per user.
    pub records_per_user: NonZeroU32,
    /// Users whose heads are cached.
    pub user_cache: NonZeroUsize,
    /// The time from a user's first change until it is due to be carried to the history store; `None`: it is not
    /// carried.
    pub history_interval: Option<Duration>,
    /// Entries of all outboxes together; a shard takes its share.
    pub outbox_max: u64,
    /// The age from which this gateway publishes claims that another gateway has made. 0 = at once, even if the other
    /// gateway publishes them, too.
    pub takeover_after: Duration,
}

/// Must be used within a tokio runtime with its timer enabled.
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
    /// The tokens of writes that take users off the list. They are not those of commits: a newer token of the same
    /// writer would make a commit of unknown outcome count as done.
    packing: TokenSource,
    rota: Rota,
    walk: Walk,
    noticed: NoticeLooks,
    /// The name of this process as the holder of leases.
    name: String,
}

impl Settings {
    /// Much longer than a live gateway takes to publish its claims.
    pub const TAKEOVER_AFTER: Duration = Duration::from_secs(15);

    /// One frame of a user, whose claims are all in one shard, may make as many claims as it has beats.
    const OUTBOX_PER_SHARD_MIN: u64 = 1_024;

    pub fn outbox_per_shard(&self) -> u64 {
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
            is_rebuilt: redis.rebuilt_at().is_some(),
        };
        let (tokens, user_cache) = (TokenSource::new(rand::random()), settings.user_cache);
        let users = Optimistic::new(users, limits, tokens, user_cache);
        let (packing, outbox) = (TokenSource::new(rand::random()), OutboxQueue::new());
        let (rota, walk, noticed) = (Rota::default(), Walk::default(), NoticeLooks::default());
        let name = format!("{:016x}", rand::random::<u64>());
        let shared = Shared { redis, settings, calendar, outbox, users, packing, rota, walk, noticed, name };
        Ok(RedisStore { shared: Arc::new(shared), stored })
    }

    /// Has an entry that this process has made published by it.
    pub fn take_entry(&self) -> Arc<dyn Fn(OutboxEntry) + Send + Sync> {
        let shared = self.shared.clone();
        Arc::new(move |entry| shared.outbox.made(entry))
    }

    /// The metrics of commits.
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
        self.shared.redis.takes_writes(shard)
    }

    fn troubles(&self) -> Vec<String> {
        self.shared.redis.troubles()
    }

    fn groups_max(&self) -> usize {
        GROUPS_MAX
    }

    fn due(&self, now: u64) -> Answer<Due> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.due(now).await })
    }

    fn get(&self, user: UserId, contents: Vec<Content>, now: u64) -> Answer<Found> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.get(user, &contents, now).await })
    }

    fn list(&self, user: UserId, request: PageRequest, now: u64, rows: RowsRead) -> Answer<Page> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.list(user, &request, now, &rows).await })
    }

    fn last_switch(&self, user: UserId) -> Answer<Option<Switch>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.last_switch(user).await })
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

impl StoredUsers for RedisStore {
    fn users(&self, request: UsersRequest, now: u64) -> Answer<Vec<UserId>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.users(&request, now).await })
    }

    fn walk(&self, user: UserId, request: WalkRequest, now: u64) -> Answer<Walked> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.walk(user, &request, now).await })
    }
}

impl StoreClock for RedisStore {
    fn time(&self) -> Answer<Option<u64>> {
        let shared = self.shared.clone();
        Box::pin(async move { shared.redis.time().await.map(Some) })
    }
}
