//! How many events of a member's partitions are not read.
//!
//! They are counted beside the reading, and by the reader without a group: a request of the member waits behind its fetch,
//! which takes half a second for each partition when there is nothing to read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset as Place, TopicPartitionList};
use tokio::task::JoinHandle;

use super::{ANSWER_TIMEOUT, Clients, Reader, blocking};
use crate::storage::event_bus::BusError;

/// How often they are counted.
const COUNT_EVERY: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Lag {
    events: Arc<AtomicU64>,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    began: Option<Instant>,
    task: Option<JoinHandle<Result<(), BusError>>>,
}

impl Lag {
    /// As they were counted last.
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    /// Begins to count, if that is due. A count fails when no broker answers: the library itself waits for one silently.
    pub fn count(&self, clients: &Clients, topic: &Arc<str>) {
        let mut count = self.count.lock();
        let is_due = count.began.is_none_or(|began| began.elapsed() > COUNT_EVERY);
        if !is_due || count.is_running() {
            return;
        }
        let (group, reader, liveness) = (clients.group.clone(), clients.reader.clone(), clients.liveness.clone());
        let (topic, events) = (topic.clone(), self.events.clone());
        let counted = blocking(move || {
            let committed = committed(&group, &reader, &topic);
            liveness.asked(committed.is_ok(), Instant::now());
            events.store(behind(&committed?, &reader, &topic)?, Ordering::Relaxed);
            Ok(())
        });
        *count = Count { began: Some(Instant::now()), task: Some(tokio::spawn(counted)) };
    }

    pub fn is_counting(&self) -> bool {
        self.count.lock().is_running()
    }

    /// What became of a count, once it has ended; not twice.
    pub async fn counted(&self) -> Option<Result<(), BusError>> {
        let ended = self.count.lock().task.take_if(|task| task.is_finished())?;
        ended.await.ok()
    }
}

impl Count {
    fn is_running(&self) -> bool {
        self.task.as_ref().is_some_and(|task| !task.is_finished())
    }
}

/// What the group has committed of its partitions. It fails when no broker answers one of the clients, and not for anything
/// that is wrong with a partition.
fn committed(group: &Reader, reader: &Mutex<Reader>, topic: &str) -> KafkaResult<TopicPartitionList> {
    reader.lock().fetch_metadata(Some(topic), ANSWER_TIMEOUT)?;
    let assignment = group.assignment()?;
    match assignment.count() {
        // Of no partition the library would wait for ever.
        0 => group.fetch_metadata(Some(topic), ANSWER_TIMEOUT).map(|_| assignment),
        _ => group.committed_offsets(assignment, ANSWER_TIMEOUT),
    }
}

fn behind(committed: &TopicPartitionList, reader: &Mutex<Reader>, topic: &str) -> KafkaResult<u64> {
    committed.elements().iter().try_fold(0, |behind, element| {
        let (low, high) = reader.lock().fetch_watermarks(topic, element.partition(), ANSWER_TIMEOUT)?;
        let next = if let Place::Offset(next) = element.offset() { next.max(low) } else { low };
        Ok(behind + u64::try_from(high - next).unwrap_or_default())
    })
}
