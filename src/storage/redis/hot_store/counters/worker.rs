//! Counts all records when definitions are new or differ, and when a recount is asked for. One gateway does it for all.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::compare::{Compared, Comparison};
use super::{jobs, walk};
use crate::hot_store::keys::{COMMON, Keys};
use crate::hot_store::users::RedisUsers;
use crate::hot_store::{Shared, generations};
use crate::lease;
use crate::sums::RedisSums;
use model::backoff::Backoff;
use model::counters::{CounterId, Definitions, Difference, Generation, Generations, RecountJob, RecountState};
use storage::Clock;
use storage::counters::{CountersError, Metrics};
use storage::hot_store::StoreError;
use storage::hot_store::optimistic::{TokenSource, UserStore};
use storage::statistics::CounterStatistics;
use storage::sums::PendingSums;
use storage::sums::drain::Drain;
use storage::turn::Turn;

/// Another gateway goes on with the count when this one has not for so long.
const LEASE: Duration = Duration::from_secs(15);
/// Between two looks for something to count.
const PAUSE: Duration = Duration::from_secs(1);
/// While sums are on their way.
const FLUSH_PAUSE: Duration = Duration::from_millis(50);
const RETRY: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(5));
/// From one note of the progress to the next.
const NOTED_SHARDS: usize = 50;

/// One gateway's knowledge from earlier looks.
#[derive(Default)]
struct Seen {
    /// Its wanted definitions are counted, or were superseded by those of another gateway.
    is_settled: bool,
    /// The generations that all shards name, by their order.
    named: (u32, u32),
}

/// Runs until it is dropped.
pub struct CounterWorker {
    pub(super) shared: Arc<Shared>,
    pub(super) statistics: Arc<dyn CounterStatistics>,
    pub(super) sums: RedisSums,
    /// The definitions in the settings of this gateway.
    pub(super) wanted: Definitions,
    /// Not those of commits: a newer token of the same writer would make a commit of unknown outcome count as done.
    pub(super) tokens: TokenSource,
    pub(super) clock: Clock,
    /// A recount was asked for.
    pub(super) asked: Arc<Notify>,
    /// Notified when a flight should begin soon.
    pub(super) soon: Arc<Notify>,
    pub(super) metrics: Metrics,
}

impl CounterWorker {
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub async fn run(&self) {
        let (mut backoff, mut seen, mut is_failing) = (RETRY, Seen::default(), false);
        loop {
            match self.look(&mut seen).await {
                Ok(()) => {
                    backoff.succeeded();
                    is_failing = false;
                    let _ = timeout(PAUSE, self.asked.notified()).await;
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
                        tracing::error!(event = "counters_postponed", %error, "derived counters wait to be counted");
                    }
                    sleep(backoff.failed_with_jitter(rand::random())).await;
                }
            }
            self.metrics.counting.set(0);
        }
    }

    fn users(&self) -> &RedisUsers {
        self.shared.users.store()
    }

    async fn look(&self, seen: &mut Seen) -> Result<(), CountersError> {
        let redis = &self.shared.redis;
        self.users().read_generations().await?;
        let mut known = self.users().generations();
        if seen.named != known.order() {
            // The gateway that has changed them may have ended before it named them, and commits wait for it.
            generations::name_in_all_shards(redis, &known).await?;
            seen.named = known.order();
        }
        let differs = !seen.is_settled && !known.count(&self.wanted);
        let jobs = jobs::all(redis).await?;
        // One whose generation is complete was left by a gateway that ended before it said so.
        let served = known.next.as_ref().map(|next| next.number);
        let waits = jobs.values().any(|job| job.is_running() && Some(job.generation) != served);
        if known.next.is_none() && !waits && !differs && known.gone.is_empty() {
            seen.is_settled = true;
            return Ok(());
        }
        if self.take_turn().await? != Turn::Mine {
            return Ok(());
        }
        if known.next.is_none() && !waits && !differs {
            seen.is_settled = true;
            return self.drop_gone(&known).await;
        }
        if differs || known.next.is_none() {
            let present = known.current.as_ref().map(|current| current.definitions.clone());
            let definitions = present.filter(|_| !differs).unwrap_or_else(|| self.wanted.clone());
            if !generations::replace(redis, &known, &known.begin(definitions)).await? {
                return Ok(());
            }
            self.users().read_generations().await?;
            known = self.users().generations();
            self.serve(jobs, &known).await?;
        }
        seen.is_settled = true;
        let Some(next) = known.next.clone() else { return Ok(()) };
        self.count(&known, &next).await
    }

    /// The recounts that wait are served by the count that begins now.
    async fn serve(&self, mut jobs: BTreeMap<String, RecountJob>, known: &Generations) -> Result<(), CountersError> {
        jobs.retain(|_, job| job.is_running());
        jobs.values_mut().for_each(|job| job.generation = known.newest());
        Ok(jobs::put(&self.shared.redis, &jobs).await?)
    }

    async fn count(&self, known: &Generations, next: &Generation) -> Result<(), CountersError> {
        let redis = &self.shared.redis;
        self.metrics.counting.set(1);
        tracing::info!(
            event = "counters_counting",
            counters = next.definitions.counters.len(),
            "all records are being counted"
        );
        generations::name_in_all_shards(redis, known).await?;
        let mut jobs = jobs::all(redis).await?;
        jobs.retain(|_, job| job.is_running() && job.generation == next.number);
        if !next.definitions.counters.is_empty() {
            self.walk(&mut jobs).await?;
            self.flush().await?;
        }
        let differences = self.compare(known, next, &mut jobs).await?;
        if !generations::replace(redis, known, &known.complete()).await? {
            return Ok(());
        }
        self.users().read_generations().await?;
        let known = self.users().generations();
        generations::name_in_all_shards(redis, &known).await?;
        jobs.values_mut().for_each(|job| job.recount.state = RecountState::Done);
        jobs::put(redis, &jobs).await?;
        self.metrics.recounts.inc();
        tracing::info!(event = "counters_counted", differences, "all records are counted");
        self.drop_gone(&known).await
    }

    async fn walk(&self, jobs: &mut BTreeMap<String, RecountJob>) -> Result<(), CountersError> {
        // A user of another shard is new, and belongs to the next generation.
        let shards = walk::shards(&self.shared.redis).await?;
        let of = shards.iter().map(|(_, users)| users).sum::<u64>();
        let mut done = 0;
        for (index, (shard, _)) in shards.into_iter().enumerate() {
            done += walk::shard(self.users(), &self.tokens, shard, (self.clock)()).await?;
            if index % NOTED_SHARDS == 0 {
                self.hold_turn().await?;
                for job in jobs.values_mut() {
                    (job.recount.done, job.recount.of) = (done, of.max(done));
                }
                jobs::put(&self.shared.redis, jobs).await?;
            }
        }
        jobs.values_mut().for_each(|job| (job.recount.done, job.recount.of) = (done, done));
        Ok(())
    }

    /// Waits until all that was pending at the end of the walk is written.
    async fn flush(&self) -> Result<(), CountersError> {
        let mut look = self.sums.look().await?;
        let mut drain = Drain::begin(look);
        while !drain.is_over(look) {
            self.soon.notify_one();
            self.hold_turn().await?;
            sleep(FLUSH_PAUSE).await;
            look = self.sums.look().await?;
        }
        Ok(())
    }

    /// Returns the number of differences between the present generation and the next one.
    async fn compare(
        &self,
        known: &Generations,
        next: &Generation,
        jobs: &mut BTreeMap<String, RecountJob>,
    ) -> Result<u64, CountersError> {
        let Some(current) = &known.current else { return Ok(0) };
        let counters = next.definitions.counters.iter().map(|definition| &definition.id);
        let counters = counters.filter(|id| next.definitions.counts_as(id, &current.definitions));
        let mut comparison = Comparison::new(&*self.statistics, &self.sums, [current.number, next.number]);
        let found = self.differences(&mut comparison, counters, jobs).await;
        comparison.let_go().await;
        found
    }

    async fn differences(
        &self,
        comparison: &mut Comparison<'_>,
        counters: impl Iterator<Item = &CounterId>,
        jobs: &mut BTreeMap<String, RecountJob>,
    ) -> Result<u64, CountersError> {
        let mut found = 0;
        for id in counters {
            let mut compared = Compared::default();
            while !compared.is_over() {
                self.hold_turn().await?;
                let differences = comparison.next(id, &mut compared).await?;
                found += differences.len() as u64;
                differences.iter().for_each(|difference| self.note(id, difference, jobs));
            }
        }
        Ok(found)
    }

    fn note(&self, id: &CounterId, difference: &Difference, jobs: &mut BTreeMap<String, RecountJob>) {
        self.metrics.differences.inc();
        tracing::error!(
            event = "counter_difference",
            counter = %id, key = %difference.key, was = difference.was, is = difference.is,
            "a derived counter was wrong, and is repaired"
        );
        jobs.values_mut().filter(|job| job.counter == *id).for_each(|job| job.note(difference));
    }

    async fn drop_gone(&self, known: &Generations) -> Result<(), CountersError> {
        for number in &known.gone {
            self.hold_turn().await?;
            self.statistics.drop_generation(*number).await?;
        }
        let new = Generations { gone: Vec::new(), ..known.clone() };
        generations::replace(&self.shared.redis, known, &new).await?;
        Ok(())
    }

    async fn take_turn(&self) -> Result<Turn, StoreError> {
        lease::take(&self.shared.redis, COMMON, &Keys::of(COMMON).count(), &self.shared.name, LEASE).await
    }

    /// Two gateways that count at the same time only do the work twice.
    async fn hold_turn(&self) -> Result<(), StoreError> {
        self.take_turn().await.map(drop)
    }
}
