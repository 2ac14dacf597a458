//! The logs that a partition has had: each has an epoch, and a name of its own.
//!
//! A topic that was made anew, and a Kafka that has lost its data, count their messages from the first one again. Queues that
//! know an offset would take new events for old ones. So a message that was read is remembered with its offset. If
//! another one is there, or none, it is another log: its part has a new name, `topic/3~1` after `topic/3`, which no
//! queue knows, and it is read from its start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use parking_lot::Mutex;

use storage::event_bus::part::Part;
use storage::event_bus::source::{LogMark, Marks};
use storage::event_bus::{BusError, Offset};
use storage::store_error::StoreError;

/// The logs of a partition before this one.
pub type Epoch = u64;

/// How often a message is remembered.
const KEEP_EVERY: Duration = Duration::from_secs(5);
/// For so long another log counts as a problem.
const TROUBLE: Duration = Duration::from_mins(10);

pub struct Logs {
    topic: Arc<str>,
    marks: Arc<dyn Marks>,
    /// When a message was remembered last, of each partition and epoch.
    kept: Mutex<BTreeMap<(i32, Epoch), Instant>>,
    changed: Mutex<Option<Instant>>,
}

impl Logs {
    pub fn new(topic: Arc<str>, marks: Arc<dyn Marks>) -> Self {
        Logs { topic, marks, kept: Mutex::default(), changed: Mutex::default() }
    }

    pub fn part(&self, partition: i32, epoch: Epoch) -> Part {
        match epoch {
            0 => Part::new(format!("{}/{partition}", self.topic)),
            _ => Part::new(format!("{}/{partition}~{epoch}", self.topic)),
        }
    }

    /// The partition and the epoch of a part.
    pub fn of(&self, part: &Part) -> Result<(i32, Epoch), BusError> {
        let rest = part.as_str().strip_prefix(&*self.topic).and_then(|rest| rest.strip_prefix('/'));
        let read = rest.and_then(|rest| {
            let (partition, epoch) = rest.split_once('~').unwrap_or((rest, "0"));
            Some((partition.parse().ok()?, epoch.parse().ok()?))
        });
        read.ok_or_else(|| BusError(format!("there is no part {part}")))
    }

    pub async fn epoch(&self, partition: i32) -> Result<Epoch, BusError> {
        self.marks.cursor(self.counter(partition)).await.map_err(unknown)
    }

    /// The parts as they are named now.
    pub async fn parts(&self, partitions: impl Iterator<Item = i32>) -> Result<Vec<Part>, BusError> {
        let part = async |partition| self.epoch(partition).await.map(|epoch| self.part(partition, epoch));
        try_join_all(partitions.map(part)).await
    }

    /// The remembered message of a log, if there is one.
    pub async fn mark(&self, partition: i32, epoch: Epoch) -> Result<Option<LogMark>, BusError> {
        self.marks.mark(self.part(partition, epoch)).await.map_err(unknown)
    }

    /// Remembers this message, unless that was done not long ago.
    pub async fn keep(&self, partition: i32, epoch: Epoch, mark: LogMark) -> Result<(), BusError> {
        let is_recent = |kept: &Instant| kept.elapsed() < KEEP_EVERY;
        if self.kept.lock().get(&(partition, epoch)).is_some_and(is_recent) {
            return Ok(());
        }
        self.marks.keep_mark(self.part(partition, epoch), mark).await.map_err(unknown)?;
        self.kept.lock().insert((partition, epoch), Instant::now());
        Ok(())
    }

    /// From now on the partition has this log.
    pub async fn change(&self, partition: i32, epoch: Epoch) -> Result<(), BusError> {
        self.marks.move_cursor(self.counter(partition), epoch).await.map_err(unknown)?;
        *self.changed.lock() = Some(Instant::now());
        tracing::error!(
            event = "event_log_changed",
            topic = &*self.topic,
            partition,
            "another log than was read before: the topic was made anew, or Kafka has lost data; reading it from its start"
        );
        Ok(())
    }

    pub fn degraded(&self) -> Option<String> {
        let is_recent = self.changed.lock().is_some_and(|changed| changed.elapsed() < TROUBLE);
        is_recent.then(|| format!("the topic {} was made anew or has lost data", self.topic))
    }

    /// The name of the cursor that numbers the logs of a partition.
    fn counter(&self, partition: i32) -> Part {
        Part::new(format!("epoch:{}/{partition}", self.topic))
    }
}

fn unknown(error: StoreError) -> BusError {
    BusError(format!("it is not known what was read: {error}"))
}

/// The hash of a message, the same in all versions.
pub fn hash_of(time: Option<i64>, payload: &[u8]) -> u64 {
    use std::hash::Hasher;
    let mut hasher = siphasher::sip::SipHasher24::new();
    hasher.write(&time.unwrap_or_default().to_be_bytes());
    hasher.write(payload);
    hasher.finish()
}

/// A message at this offset.
pub fn mark_of(offset: Offset, message: &impl rdkafka::Message) -> LogMark {
    let hash = hash_of(message.timestamp().to_millis(), message.payload().unwrap_or_default());
    LogMark { offset, hash }
}

#[cfg(test)]
mod tests {
    use super::*;
    use storage::fixtures::MemoryMarks;

    #[test]
    fn a_part_names_its_partition_and_its_log() {
        let logs = Logs::new("rewards".into(), Arc::new(MemoryMarks::default()));
        for (partition, epoch, name) in [(0, 0, "rewards/0"), (11, 2, "rewards/11~2")] {
            let part = logs.part(partition, epoch);
            assert_eq!((part.as_str(), logs.of(&part).ok()), (name, Some((partition, epoch))));
        }
        for wrong in ["other/0", "rewards/x", "rewards/0~x", "rewards0", "rewards/"] {
            assert!(logs.of(&Part::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn the_names_of_all_change_with_the_log() {
        let logs = Logs::new("rewards".into(), Arc::new(MemoryMarks::default()));
        assert!(logs.degraded().is_none());
        let mark = LogMark { offset: 7, hash: 1 };
        logs.keep(1, 0, mark).await.unwrap();
        logs.change(1, 1).await.unwrap();
        let names: Vec<_> = logs.parts([0, 1].into_iter()).await.unwrap();
        assert_eq!(names.iter().map(Part::as_str).collect::<Vec<_>>(), ["rewards/0", "rewards/1~1"]);
        assert_eq!((logs.mark(1, 0).await.unwrap(), logs.mark(1, 1).await.unwrap()), (Some(mark), None));
        assert!(logs.degraded().is_some());
    }

    /// It never changes: marks of an earlier version are compared with it.
    #[test]
    fn the_hash_of_a_message_stays_the_same() {
        assert_eq!(hash_of(Some(1), b"a"), hash_of(Some(1), b"a"));
        assert_ne!(hash_of(Some(1), b"a"), hash_of(Some(2), b"a"));
        assert_ne!(hash_of(Some(1), b"a"), hash_of(Some(1), b"b"));
    }
}
