//! Direct counters in the Redis that gateways share.
//!
//! ```text
//! a step → queue of its lane → step.lua: id, bounds, value, crossings and outbox in one step → value
//! an id  → hold.lua, in the shard of the id: it belongs to this key and this number          → then the step
//! ```
//!
//! A key is in the shard of its counter and its parts, with the answers of its requests, and its events are in the outbox
//! of that shard, as claims are. An id may come with any key, so a request with one first takes hold of it, in the shard
//! of the id. If it is refused, it gives the id free again. If that call is lost, the id belongs to the same request until
//! it is forgotten.
//!
//! **Failure.** Every error is an unknown outcome. A request with an id is repeated, for [`REPEAT_MAX`]; one without is
//! not, because it may have been done. Entries of a step whose answer was lost are taken over from the outbox.
//!
//! **Memory.** 110 bytes for each key (16 while the counter has at most 128 in the shard), 65 for each threshold that a key
//! has crossed, 360 for each id of the last day. Measured with Redis 7.0.

mod hold;
mod keys;
mod step;
mod top;
mod words;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use ::redis::pipe;
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

pub use self::worker::{DirectWorker, TakeEntry};

use self::hold::Hold;
use self::step::Step;
use self::worker::Lanes;
use crate::{Redis, checked, joined};
use model::counters::direct::{Added, DirectDefinitions};
use model::counters::{CounterId, CounterKey};
use model::shard::Shards;
use storage::counters::{Addition, Answer, CounterReads, CountersError, DirectCounters, REMEMBERED};
use storage::store_error::StoreError;

/// When the keys of ids go, by the clock of Redis: later than they are forgotten by that of the gateways.
const EXPIRE: Duration = Duration::from_hours(25);
/// For so long a request with an id is repeated while its outcome is unknown.
const REPEAT_MAX: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(50);

pub struct RedisDirect {
    redis: Redis,
    definitions: Arc<DirectDefinitions>,
    lanes: Arc<Lanes>,
}

impl RedisDirect {
    /// `room`: entries that the outbox of a shard may hold. `take_entry`: has an entry published by this process.
    pub fn new(
        redis: Redis,
        definitions: Arc<DirectDefinitions>,
        room: u64,
        take_entry: TakeEntry,
    ) -> (Self, DirectWorker) {
        let (lanes, worker) = Lanes::new(redis.clone(), room, take_entry);
        (RedisDirect { redis, definitions, lanes: Arc::new(lanes) }, worker)
    }
}

impl CounterReads for RedisDirect {
    fn values(&self, id: CounterId, keys: Vec<CounterKey>) -> Answer<Vec<i64>> {
        let initial = self.definitions.of(&id).map_or(0, |counter| counter.initial);
        let redis = self.redis.clone();
        Box::pin(async move { Ok(values(&redis, &id, &keys, initial).await?) })
    }

    fn top(&self, id: CounterId, prefix: CounterKey, limit: usize) -> Answer<Vec<(CounterKey, i64)>> {
        let redis = self.redis.clone();
        Box::pin(async move { Ok(top::top(&redis, &id, &prefix, limit).await?) })
    }
}

impl DirectCounters for RedisDirect {
    fn add(&self, addition: Addition) -> Answer<Added> {
        let lanes = self.lanes.clone();
        Box::pin(async move {
            match addition.id.clone() {
                Some(id) => add_once(&lanes, addition, &id).await,
                None => lanes.step(Step::Add(addition)).await?.added,
            }
        })
    }

    fn reset(&self, id: CounterId, key: CounterKey) -> Answer<()> {
        let (lanes, counter) = (self.lanes.clone(), self.definitions.of(&id).cloned());
        Box::pin(async move {
            if let Some(counter) = counter {
                lanes.step(Step::Reset { counter, key }).await?;
            }
            Ok(())
        })
    }
}

/// Adds, and tries again while it is not known whether that was done.
async fn add_once(lanes: &Lanes, addition: Addition, id: &Arc<str>) -> Result<Added, CountersError> {
    let (hold, until) = (Hold::of(&addition, id, rand::random()), Instant::now() + REPEAT_MAX);
    loop {
        match try_once(lanes, &addition, &hold).await {
            Err(CountersError::Hot(_)) if Instant::now() + PAUSE < until => sleep(PAUSE).await,
            answer => return answer,
        }
    }
}

async fn try_once(lanes: &Lanes, addition: &Addition, hold: &Hold) -> Result<Added, CountersError> {
    if !lanes.hold(hold.clone()).await? {
        return Ok(Added::IdReused);
    }
    let added = lanes.step(Step::Add(addition.clone())).await?.added;
    if matches!(added, Ok(Added::PassesBound { .. }) | Err(CountersError::OutboxFull)) {
        let _stays_held = lanes.hold(hold.clone().release()).await;
    }
    added
}

/// In the order asked.
async fn values(redis: &Redis, id: &CounterId, keys: &[CounterKey], initial: i64) -> Result<Vec<i64>, StoreError> {
    let shard = |index: &usize| Shards::DEFAULT.of_counter(id, &keys[*index]);
    let mut indexes: Vec<usize> = (0..keys.len()).collect();
    indexes.sort_by_key(shard);
    let parts = joined::split(redis, &mut indexes, shard, |_| 1).into_iter();
    let read = join_all(parts.map(async |part| {
        let mut commands = pipe();
        for index in &*part {
            commands.zscore(keys::values(shard(index), id), keys[*index].encoded());
        }
        Ok::<_, StoreError>((checked::ask(redis, shard(&part[0]), commands).await?, part))
    }));
    let mut values = vec![initial; keys.len()];
    for of_part in read.await {
        let (scores, part) = of_part?;
        for (index, score) in part.iter().zip(scores) {
            if score != ::redis::Value::Nil {
                values[*index] = -words::number(&score)?;
            }
        }
    }
    Ok(values)
}
