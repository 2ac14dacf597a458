//! Owners' queues in the Redis that gateways share.
//!
//! ```text
//! the id of an owner → its unit → one script for each step: record, queue, control queue and totals change together
//! ```
//!
//! An owner is in one of 16 [units](mod@unit), with all of its keys, and each unit has a control queue of its own. A queue is
//! a list, which Redis makes with its first entry and removes with its last.
//!
//! **Numbers**, versions and fences are numbers of the unit: the time in microseconds, or one more than the newest. None
//! is given twice, so they need not be kept of an owner that is deleted, except for its version.
//!
//! **Time** is that of Redis alone: when something is due, how long a lease lasts, and what is too old.
//!
//! **Steps** are bounded, since a script keeps all other calls waiting: 512 events or 1 MiB are queued together, and 500
//! go to the dead letters of an owner. What is more is done in several steps. Those of an append and of a fill are in
//! order, and none follows one that has failed.
//!
//! **A lease and the API.** A status that the API has changed since the lease was given stays, whatever the end of the
//! lease says: a pause stays a pause, and an owner that was resumed or put is due at once.
//!
//! **Memory.** An idle owner has 710 bytes, of which 166 are its definition, and 27 bytes more for each part of the bus
//! beyond the first. A queue with one event of 500 bytes takes 1,060 bytes, and each further one 550. An owner that was
//! deleted keeps 270 bytes. Measured with Redis 7.0.
//!
//! **Calls.** Owners of all units are in one call of a script, except in a Cluster. Ends of leases that come together are
//! stored together.
//!
//! **Time of Redis** for each event of 400 bytes, from the append to the end of its lease: 29 µs if 1,000 owners have 30
//! events each at once, and 105 µs if 2,000 events a second come to them, nearly each of which is in a lease of its own.
//! Asking for leases when none is due takes 80 µs. `tests/subscriber_cost` measures it.
//!
//! **Failure.** Every error is an unknown outcome. Leases that were given are used though another node is away.

mod answer;
mod append;
mod calls;
mod change;
mod cursor;
mod dead;
mod ends;
mod keys;
mod lease;
mod read;
mod replay;
mod status;
pub mod unit;

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use futures_util::future::BoxFuture;

use self::append::Units;
use self::calls::Queues;
use self::ends::{Ends, LeaseEnd};
use crate::Redis;
use model::subscribers::SubscriberId;
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::{Cursors, LogMark, Marks};
use storage::owner_queues::unreadable::UnreadableOwners;
use storage::owner_queues::{
    Append, Appended, Bounds, Change, Changed, Dead, Done, Due, Ended, Fence, Fill, Filled, Given, Limit, Number,
    Offer, Owner, OwnerQueues, Replay, Revision, Subscriptions, Totals, Unreadable, Version, Wanted,
};
use storage::store_error::{Answer, StoreError};

/// Events that are queued in one step.
const EVENTS_MAX: usize = 512;
/// Their bytes; one event may have more.
const EVENT_BYTES_MAX: usize = 1 << 20;

pub struct RedisQueues {
    queues: Queues,
    /// Which units are asked first.
    turn: Arc<AtomicUsize>,
    ends: Arc<Ends>,
}

impl RedisQueues {
    pub fn new(redis: Redis, bounds: Bounds) -> Self {
        let ends = Arc::new(Ends::new(&redis));
        RedisQueues {
            queues: Queues { redis, bounds, unreadable: UnreadableOwners::default() },
            turn: Arc::default(),
            ends,
        }
    }
}

impl Cursors for RedisQueues {
    fn cursor(&self, part: Part) -> Answer<Offset> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::cursor(&redis, &part).await })
    }

    fn move_cursor(&self, part: Part, to: Offset) -> Answer<()> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::move_cursor(&redis, &part, to).await })
    }
}

impl Marks for RedisQueues {
    fn mark(&self, part: Part) -> Answer<Option<LogMark>> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::mark(&redis, &part).await })
    }

    fn keep_mark(&self, part: Part, mark: LogMark) -> Answer<()> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::keep_mark(&redis, &part, mark).await })
    }
}

impl OwnerQueues for RedisQueues {
    fn owner(&self, id: SubscriberId) -> Answer<(Version, Option<Result<Owner, Unreadable>>)> {
        let queues = self.queues.clone();
        Box::pin(async move { read::owner(&queues, &id).await })
    }

    fn owners(&self, after: Option<SubscriberId>, limit: usize) -> Answer<Vec<Owner>> {
        let queues = self.queues.clone();
        Box::pin(async move { read::owners(&queues, after.as_ref(), limit).await })
    }

    fn change(&self, id: SubscriberId, version: Version, change: Change) -> Answer<Changed> {
        let queues = self.queues.clone();
        Box::pin(async move { change::change(&queues, &id, version, &change).await })
    }

    fn dead(&self, id: SubscriberId, after: Number, limit: usize) -> Answer<Option<Vec<Dead>>> {
        let queues = self.queues.clone();
        Box::pin(async move { dead::dead(&queues, &id, after, limit).await })
    }

    fn resend(&self, id: SubscriberId) -> Answer<Option<u64>> {
        let queues = self.queues.clone();
        Box::pin(async move { dead::resend(&queues, &id).await })
    }

    fn looked_at(&self) -> Answer<Option<u64>> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::looked_at(&redis).await })
    }

    fn keep_look(&self, at: u64) -> Answer<()> {
        let redis = self.queues.redis.clone();
        Box::pin(async move { cursor::keep_look(&redis, at).await })
    }

    fn subscriptions(&self, since: Revision) -> Answer<Subscriptions> {
        let queues = self.queues.clone();
        Box::pin(async move { read::subscriptions(&queues, since).await })
    }

    fn append(&self, part: Part, events: Vec<Append>) -> Answer<Appended> {
        let (queues, offer) = (self.queues.clone(), Offer { leases: 0, lease: Duration::ZERO });
        Box::pin(async move { append::append(&queues, Units::of_part(&part, &events), offer).await.0 })
    }

    fn append_and_take(
        &self,
        parts: Vec<Wanted>,
        offer: Offer,
    ) -> BoxFuture<'static, (Result<Appended, StoreError>, Given)> {
        let queues = self.queues.clone();
        Box::pin(async move { append::append(&queues, Units::of_parts(&parts), offer).await })
    }

    fn take(&self, limit: Limit, lease: Duration) -> Answer<Due> {
        let (queues, turn) = (self.queues.clone(), self.turn.clone());
        Box::pin(async move { lease::take(&queues, limit, lease, &turn).await })
    }

    fn done(&self, owner: SubscriberId, fence: Fence, done: Done) -> Answer<Ended> {
        let (queues, ends) = (self.queues.clone(), self.ends.clone());
        Box::pin(async move {
            let told = ends.store(&queues, owner, fence, done, None).await?;
            Ok(if matches!(told, LeaseEnd::Fenced) { Ended::Fenced } else { Ended::Done })
        })
    }

    fn done_and_take(&self, owner: SubscriberId, fence: Fence, done: Done, lease: Option<Duration>) -> Answer<Given> {
        let (queues, ends) = (self.queues.clone(), self.ends.clone());
        Box::pin(async move {
            Ok(match ends.store(&queues, owner, fence, done, lease).await? {
                LeaseEnd::Idle | LeaseEnd::Unreadable => Given::default(),
                // It may have become due when a void lease was ended.
                LeaseEnd::Queued | LeaseEnd::Fenced => Given { taken: Vec::new(), is_due: true },
                LeaseEnd::Renewed(taken) => Given { taken: vec![*taken], is_due: false },
            })
        })
    }

    fn expire(&self) -> Answer<u64> {
        let queues = self.queues.clone();
        Box::pin(async move { dead::expire(&queues).await })
    }

    fn replays(&self) -> Answer<Vec<Replay>> {
        let queues = self.queues.clone();
        Box::pin(async move { replay::replays(&queues).await })
    }

    fn fill(&self, fill: Fill) -> Answer<Filled> {
        let queues = self.queues.clone();
        Box::pin(async move { replay::fill(&queues, &fill).await })
    }

    fn totals(&self) -> Answer<Totals> {
        let queues = self.queues.clone();
        Box::pin(async move { read::totals(&queues).await })
    }
}
