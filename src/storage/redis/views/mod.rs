//! Views in the Redis that gateways share, on their way to the statistics store.
//!
//! ```text
//! a view   → queue → count.lua: mark, pending sums and total in one step; a total not in Redis is read first
//! a total  → remembered in Redis; or the stored total, plus the sums of the shard that the store lacks
//! sums     → flights → statistics store
//! ```
//!
//! A view by request is counted in the shard of its content. A view by playback is counted in the shard of its user, by
//! the commit of the beat: Redis does not remember such totals, and reads take them from the statistics store. They lag
//! by the interval of flights.
//!
//! **Memory.** A remembered total takes some 70 bytes, and a mark some 110 for two days. While the statistics store is
//! away, views by request are refused once a shard has the greatest number of pending fields ([`count`]). Views by
//! playback are never refused, since no beat waits for a statistics store: a shard then has two fields of some 60 bytes
//! for each content and day that its users have viewed.

mod count;
mod delete;
mod keys;
mod stored;
mod totals;

use std::sync::{Arc, LazyLock};

use ::redis::{Script, pipe};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::{Notify, mpsc, oneshot};

use self::count::WaitingView;
use self::stored::StoredTotals;
use crate::script::script;
use crate::{Call, Redis, checked, joined};
use model::ids::{Content, UserId};
use model::rewards::day::Day;
use model::shard::{Shard, Shards};
use model::view::{View, ViewDays, Viewed};
use storage::statistics::{Statistics, StatisticsAway};
use storage::store_error::StoreError;
use storage::views::{Answer, Views};

static FORGET: LazyLock<Script> = LazyLock::new(|| script(include_str!("forget.lua")));

/// Views that wait, some 200 bytes each. Any further view is refused.
const QUEUE_MAX: usize = 65_536;
/// Views in one batch.
const BATCH_MAX: usize = 2_048;
/// Concurrent batches: while Redis syncs one, it can read the next.
const BATCHES_MAX: usize = 4;
/// Concurrent reads of missed totals, one for each batch. No further batch begins beyond this count.
const READS_MAX: usize = 64;

/// The kinds of contents by how they are counted.
#[derive(Clone, Debug, Default)]
pub struct CountedKinds {
    pub by_playback: Vec<u16>,
    pub by_request: Vec<u16>,
}

pub struct RedisViews {
    redis: Redis,
    kinds: CountedKinds,
    statistics: Arc<dyn Statistics>,
    totals: Arc<StoredTotals>,
    queue: mpsc::Sender<WaitingView>,
    /// Requests a flight soon.
    flush: Arc<Notify>,
}

/// Counts the queued views, until the [`RedisViews`] is dropped.
pub struct ViewsWorker {
    redis: Redis,
    totals: Arc<StoredTotals>,
    queue: mpsc::Receiver<WaitingView>,
}

impl RedisViews {
    /// `flush`: notified when a flight should begin soon.
    pub async fn open(
        redis: Redis,
        kinds: CountedKinds,
        statistics: Arc<dyn Statistics>,
        flush: Arc<Notify>,
    ) -> Result<(Self, ViewsWorker), StoreError> {
        forget_totals_of_other_kinds(&redis, &kinds).await?;
        let (sender, queue) = mpsc::channel(QUEUE_MAX);
        let totals = Arc::new(StoredTotals::new(statistics.clone()));
        let worker = ViewsWorker { redis: redis.clone(), totals: totals.clone(), queue };
        Ok((RedisViews { redis, kinds, statistics, totals, queue: sender, flush }, worker))
    }
}

impl ViewsWorker {
    pub async fn run(mut self) {
        let (mut batches, mut reads) = (FuturesUnordered::new(), FuturesUnordered::new());
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                count = self.queue.recv_many(&mut batch, BATCH_MAX),
                    if batches.len() < BATCHES_MAX && reads.len() < READS_MAX => {
                    if count == 0 {
                        return;
                    }
                    let redis = self.redis.clone();
                    batches.push(async move { count::count_remembered(&redis, batch).await });
                }
                Some(missed) = batches.next() => {
                    if !missed.is_empty() {
                        reads.push(count::count_missed(self.redis.clone(), self.totals.clone(), missed));
                    }
                }
                Some(()) = reads.next() => {}
            }
        }
    }
}

impl Views for RedisViews {
    fn count(&self, view: View) -> Answer<Viewed> {
        let (answer, answered) = oneshot::channel();
        let queued = self.queue.try_send(WaitingView::new(view, answer));
        let (redis, totals) = (self.redis.clone(), self.totals.clone());
        Box::pin(async move {
            queued.map_err(|_| StoreError::Busy("too many views queued".to_owned()))?;
            let closing = |_| StoreError::Away("the process is ending".to_owned());
            let mut viewed = answered.await.map_err(closing)??;
            if viewed.total.is_none() && !viewed.counted {
                viewed.total = totals::read(&redis, &totals, &[view.content]).await?.pop().flatten();
            }
            Ok(viewed)
        })
    }

    fn totals(&self, contents: Vec<Content>) -> Answer<Vec<Option<u64>>> {
        let (redis, totals) = (self.redis.clone(), self.totals.clone());
        let by_playback = self.kinds.by_playback.clone();
        Box::pin(async move {
            let is_played = |content: &Content| by_playback.contains(&content.kind);
            let (played, asked): (Vec<_>, Vec<_>) = contents.iter().copied().partition(is_played);
            let mut asked = totals::read(&redis, &totals, &asked).await?.into_iter();
            let mut played = totals.read(played).await.map(Vec::into_iter);
            let total = |content| match is_played(content) {
                true => played.as_mut()?.next().map(|stored| u64::try_from(stored.total).unwrap_or_default()),
                false => asked.next().flatten(),
            };
            Ok(contents.iter().map(total).collect())
        })
    }

    fn days(&self, content: Content, from: Day, to: Day) -> Answer<ViewDays> {
        let (days, totals) = (self.statistics.days(content, from, to), self.totals(vec![content]));
        Box::pin(async move {
            let days = days.await?;
            let total = totals.await?.pop().flatten();
            let total = total.ok_or_else(|| StatisticsAway("the total is not known just now".to_owned()))?;
            Ok(ViewDays { total, days })
        })
    }

    fn delete(&self, content: Content) -> Answer<()> {
        let (redis, flush) = (self.redis.clone(), self.flush.clone());
        Box::pin(async move { Ok(delete::delete(&redis, content, || flush.notify_one()).await?) })
    }

    fn forget(&self, user: UserId, today: Day) -> Answer<()> {
        let redis = self.redis.clone();
        Box::pin(async move { Ok(forget(&redis, user, today).await?) })
    }
}

/// Forgets all totals if kinds are counted differently now: the totals would lack views counted in the other way.
async fn forget_totals_of_other_kinds(redis: &Redis, kinds: &CountedKinds) -> Result<(), StoreError> {
    let sorted = |kinds: &[u16]| {
        let mut kinds = kinds.to_vec();
        kinds.sort_unstable();
        kinds.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
    };
    let now = format!("{} {}", sorted(&kinds.by_playback), sorted(&kinds.by_request));
    let mut commands = pipe();
    commands.get(keys::kinds());
    let before = checked::ask(redis, keys::COMMON, commands).await?.pop();
    if before == Some(::redis::Value::BulkString(now.clone().into_bytes())) {
        return Ok(());
    }
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    for part in joined::split(redis, &mut shards, |shard| *shard, |_| 1) {
        let mut commands = pipe();
        for shard in &*part {
            commands.unlink(keys::totals(*shard));
        }
        checked::ask(redis, part[0], commands).await?;
    }
    let mut commands = pipe();
    commands.set(keys::kinds(), now);
    checked::ask(redis, keys::COMMON, commands).await.map(drop)
}

/// Removes the marks of the user in all shards, since contents of all shards may have been viewed.
async fn forget(redis: &Redis, user: UserId, today: Day) -> Result<(), StoreError> {
    let upto = user.0.checked_add(1).map_or_else(|| b"+".to_vec(), |next| next.to_be_bytes().to_vec());
    let mut args = vec![redis.deployment().as_bytes().to_vec(), user.0.to_be_bytes().to_vec(), upto];
    let days = today.number().saturating_sub(2)..=today.number().saturating_add(1);
    args.extend(days.map(|day| Day::of_number(day).to_string().into_bytes()));
    let mut shards: Vec<Shard> = Shards::DEFAULT.all().collect();
    let parts = joined::split(redis, &mut shards, |shard| *shard, |_| 1);
    let calls = parts.into_iter().map(|part| Call { shards: part.to_vec(), keys: Vec::new(), args: args.clone() });
    redis.run(&FORGET, calls.collect()).await.map(drop)
}
