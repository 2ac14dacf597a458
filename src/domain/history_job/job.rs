//! Writes packs, batch by batch.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::sleep;

use super::batch::Batch;
use super::health::{JobHealth, Step};
use super::metrics::Metrics;
use model::backoff::Backoff;
use model::retention::Retention;
use storage::delivery::{Delivery, Receipt};
use storage::history_bus::quarantine::{Quarantine, Quarantined};
use storage::history_bus::source::{PackSource, RawPack};
use storage::history_store::HistoryStore;

/// Batches in progress: while one is written the next is read.
pub const WORKERS: usize = 2;
/// Bytes of a batch, unless a single message is longer. Decoded, a batch takes about four times as much.
pub const BATCH_BYTES: usize = 256 << 10;

/// The pause after a failure of the store or of the quarantine.
const RETRY: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(10));

/// Any number of them may run, in any number of processes.
pub struct Job {
    pub source: Arc<dyn PackSource>,
    pub store: Arc<dyn HistoryStore>,
    pub quarantine: Arc<dyn Quarantine>,
    /// That of the store.
    pub retention: Retention,
    /// The wall clock, milliseconds since 1970.
    pub now: fn() -> u64,
    pub health: Arc<JobHealth>,
    pub metrics: Metrics,
}

impl Job {
    /// Runs until it is dropped.
    pub async fn run(self) {
        join_all((0..WORKERS).map(|worker| self.work(Step::Batch(worker)))).await;
    }

    async fn work(&self, step: Step) {
        loop {
            let mut batch = Batch::of(self.source.next(BATCH_BYTES).await);
            self.put_away(std::mem::take(&mut batch.unreadable), step).await;
            self.health.compare(self.retention, batch.retention);
            self.write(&batch, step).await;
            // Not before it was written. Otherwise no job would read it again.
            self.source.commit(&batch.message_refs);
        }
    }

    /// Returns when all of it is in the store.
    async fn write(&self, batch: &Batch, step: Step) {
        let mut backoff = RETRY;
        while let Err(error) = self.store.write(batch.users.clone(), batch.retention, (self.now)()).await {
            self.metrics.failures.inc();
            self.health.failed(step, error.to_string());
            sleep(backoff.failed_with_jitter(rand::random())).await;
        }
        self.health.succeeded(step);
        self.metrics.packs.inc_by(batch.packs);
        self.metrics.users.inc_by(batch.users.len() as u64);
        self.metrics.rows.inc_by(batch.users.iter().map(|user| user.rows.len() as u64).sum());
    }

    /// Returns when all of it is in quarantine.
    async fn put_away(&self, messages: Vec<(RawPack, String)>, step: Step) {
        for (pack, reason) in messages {
            let message_ref = pack.message_ref;
            tracing::error!(
                event = "pack_quarantined",
                partition = message_ref.partition,
                offset = message_ref.offset,
                reason,
                "a message of the history topic is no pack, or a row of it is unsound; that goes into quarantine"
            );
            let mut backoff = RETRY;
            while let Err(why) = self.put(pack.clone(), reason.clone()).await {
                self.health.failed(step, why);
                sleep(backoff.failed_with_jitter(rand::random())).await;
            }
            self.metrics.quarantined.inc();
        }
    }

    async fn put(&self, pack: RawPack, reason: String) -> Result<(), String> {
        let (reports, mut reported) = unbounded_channel();
        self.quarantine.put(Quarantined { pack, reason, receipt: Receipt::new(0, reports) });
        match reported.recv().await.map(|report| report.delivery) {
            Some(Delivery::Published) => Ok(()),
            Some(Delivery::Refused(why) | Delivery::Unknown(why)) => Err(why),
            None => Err("the quarantine has ended".to_owned()),
        }
    }
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
