//! How many events of a member's partitions are not read.
//!
//! They are counted beside the reading.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaResult;
use tokio::task::JoinHandle;

use super::{ANSWER_TIMEOUT, Clients, blocking};
use crate::unread;
use storage::event_bus::BusError;

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
        let (topic, events, last_error) = (topic.clone(), self.events.clone(), clients.last_error.clone());
        let counted = blocking(move || {
            let answers = reader.lock().fetch_metadata(Some(&topic), ANSWER_TIMEOUT);
            let committed = answers.and_then(|_| unread::committed(&group, &topic, ANSWER_TIMEOUT));
            liveness.asked(committed.is_ok(), Instant::now());
            // Others may use the reader between two partitions.
            let unread = |element| unread::of_partition(&*reader.lock(), &topic, &element, ANSWER_TIMEOUT);
            let unread: u64 = committed?.elements().into_iter().map(unread).sum::<KafkaResult<_>>()?;
            events.store(unread, Ordering::Relaxed);
            Ok(())
        });
        let counted = async move {
            match counted.await {
                Ok(()) => last_error.over(),
                Err(BusError(why)) => return Err(BusError(last_error.away(&why))),
            }
            Ok(())
        };
        *count = Count { began: Some(Instant::now()), task: Some(tokio::spawn(counted)) };
    }

    pub fn is_counting(&self) -> bool {
        self.count.lock().is_running()
    }

    /// Returns the result of a count that has ended, once.
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
