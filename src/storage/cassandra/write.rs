//! Writes packs as batches: one partition each, bounded in rows, bytes and number at a time.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use scylla::statement::batch::{Batch, BatchType};
use tokio::time::Instant;

use super::Shared;
use super::lifetime::Lifetime;
use super::metrics::Operation;
use super::statements::Write;
use model::pack::UserPack;
use model::retention::Retention;
use storage::history_store::HistoryAway;

/// Users that one call writes at a time. All calls together have [`super::REQUESTS_MAX`].
const USERS_AT_A_TIME: usize = 64;
/// A node holds the whole batch in memory, and its other requests wait meanwhile. ScyllaDB warns at 128 KiB.
const BATCH_BYTES_MAX: usize = 32 << 10;
const BATCH_ROWS_MAX: usize = 200;

impl Shared {
    pub async fn write(&self, users: &[UserPack], retention: Retention, now: u64) -> Result<(), HistoryAway> {
        let users = stream::iter(users).map(Ok);
        users.try_for_each_concurrent(USERS_AT_A_TIME, |user| self.write_user(user, retention, now)).await
    }

    async fn write_user(&self, pack: &UserPack, retention: Retention, now: u64) -> Result<(), HistoryAway> {
        let writes = self.writes(pack, retention, now);
        stream::iter(batches(writes)).map(Ok).try_for_each(|batch| self.send(batch)).await
    }

    /// The writes of a pack. The two parts of a clear come first and side by side, so that they are in one batch.
    fn writes(&self, pack: &UserPack, retention: Retention, now: u64) -> Vec<Write> {
        let mut writes = Vec::with_capacity(pack.rows.len() + 2);
        if let Some(forgetting) = &pack.forgetting {
            if forgetting.watermark > 0 {
                writes.push(Write::clear(pack.user, forgetting.watermark));
            }
            let lifetime = Lifetime::of_forgetting(forgetting, retention, now);
            writes.push(Write::forget(pack.user, forgetting, lifetime));
        }
        for row in &pack.rows {
            match Lifetime::of_row(row, retention, now) {
                Lifetime::Over => self.metrics.expired(1),
                lifetime => writes.push(Write::put(pack.user, row, lifetime)),
            }
        }
        writes
    }

    async fn send(&self, writes: Vec<Write>) -> Result<(), HistoryAway> {
        let _permit = self.requests.acquire().await;
        let begun = Instant::now();
        let sent = match &writes[..] {
            [write] => self.session.execute_unpaged(self.statements.of(write), write).await,
            _ => {
                let mut batch = Batch::new(BatchType::Unlogged);
                batch.set_is_idempotent(true);
                for write in &writes {
                    batch.append_statement(self.statements.of(write).clone());
                }
                self.session.batch(&batch, &writes).await
            }
        };
        match sent {
            Ok(_) => {
                self.metrics.answered(Operation::Write, begun.elapsed());
                self.metrics.written(writes.iter().filter(|write| matches!(write, Write::Put(_))).count());
                Ok(())
            }
            Err(error) => {
                self.metrics.failed(Operation::Write);
                Err(HistoryAway(error.to_string()))
            }
        }
    }
}

/// Splits writes into batches, in order. The first two stay together: a watermark must not be stored without its
/// effect.
fn batches(writes: Vec<Write>) -> Vec<Vec<Write>> {
    let (mut batches, mut bytes) = (Vec::<Vec<Write>>::new(), 0);
    for write in writes {
        bytes += write.bytes();
        match batches.last_mut() {
            Some(batch) if batch.len() < 2 || (bytes <= BATCH_BYTES_MAX && batch.len() < BATCH_ROWS_MAX) => {
                batch.push(write)
            }
            _ => {
                bytes = write.bytes();
                batches.push(vec![write]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ids::{Content, UserId};
    use model::pack::{PackedForgetting, PackedRow};
    use model::recording::Switch;
    use model::version::Version;

    fn row(oid: u64) -> Write {
        let row = PackedRow { content: Content { kind: 1, oid }, record: None, tombstone: 1, version: Version(2) };
        Write::put(UserId(1), &row, Lifetime::Seconds(1))
    }

    #[test]
    fn batches_are_bounded_in_rows_and_bytes_and_lose_nothing() {
        let batches = batches((0..1_000).map(row).collect());
        assert!(batches.iter().all(|batch| batch.len() <= BATCH_ROWS_MAX));
        assert!(batches.iter().all(|batch| batch.iter().map(Write::bytes).sum::<usize>() <= BATCH_BYTES_MAX));
        assert_eq!(batches.iter().map(Vec::len).sum::<usize>(), 1_000);
        assert!(batches.len() <= 6, "{}", batches.len());
    }

    #[test]
    fn a_watermark_and_its_range_delete_are_in_one_batch() {
        let switches = vec![Switch { at: 1, paused: true }; 10_000];
        let forgetting = PackedForgetting { watermark: 1, floor: 0, switches, version: Version(2) };
        let writes = vec![Write::clear(UserId(1), 1), Write::forget(UserId(1), &forgetting, Lifetime::ForEver), row(1)];
        let batches = batches(writes);
        assert!(matches!(&batches[0][..], [Write::Clear(_), Write::Forget(_)]));
        assert_eq!(batches.len(), 2);
    }
}
