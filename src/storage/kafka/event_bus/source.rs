//! A topic as a source of events: a member of a group reads it, and a reader without a group looks up what is asked for.
//!
//! Kafka counts offsets from 0; here they begin with 1, so that 0 is before the first event.
//!
//! The library's calls block: they are made on the runtime's threads for that, each for [`WAIT`] or until a timeout.
//!
//! **Memory.** At most [`HELD_MAX`] events and little more than [`HELD_BYTES_MAX`] that are handed over next, and 4 MiB that
//! the library has fetched ahead.

mod assigned;
mod lag;
mod logs;
mod lookup;
mod member;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use rdkafka::topic_partition_list::{Offset as KafkaOffset, TopicPartitionList};
use tokio::task::spawn_blocking;

use self::assigned::{Assigned, Batch, Held};
use self::lag::Lag;
use self::logs::{Logs, mark_of};
use self::member::Member;
use super::KafkaRefused;
use super::message::structured;
use crate::client;
use crate::last_error::LastError;
use crate::liveness::{Liveness, drop_aside};
use storage::config::kafka::KafkaConfig;
use storage::event_bus::part::{Offsets, Part};
use storage::event_bus::source::{EventArchive, EventSource, Marks, PartEvents};
use storage::event_bus::{BusError, EventTopic, Offset};

/// Messages that are held. With a backlog, an owner has as many events in a step as its partition has among them, and a step
/// costs little more with more events.
const HELD_MAX: usize = 8_192;
const HELD_BYTES_MAX: usize = 4 << 20;
/// How long a call waits for messages.
const WAIT: Duration = Duration::from_millis(500);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How soon it looks for a missing topic again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// A member that says nothing for so long has died, and its partitions are given to others.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
/// How often committed offsets are sent to the brokers; a wait for each could last as long as a rebalance.
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// How often it is looked whether the logs are the same.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// A topic that was missing, or has more partitions, is seen after so long.
const METADATA_EVERY: Duration = Duration::from_secs(10);
const FETCHED_KIB_MAX: u32 = 4_096;

type Reader = BaseConsumer<Member>;

/// Reads a topic. It joins the group with the first call of [`next`](EventSource::next): a member that is not
/// asked for messages would hold up the others. It leaves the group when it is dropped.
pub struct KafkaEvents {
    topic: Arc<str>,
    settings: ClientConfig,
    group_name: String,
    clients: Mutex<Arc<Clients>>,
    assigned: Arc<Assigned>,
    lag: Lag,
    logs: Logs,
    /// When it was last looked whether these are the same.
    looked: Mutex<Option<Instant>>,
}

struct Clients {
    group: Arc<Reader>,
    /// Reads what is asked for; one question at a time.
    reader: Arc<Mutex<Reader>>,
    liveness: Arc<Liveness>,
    /// The last error of both clients.
    last_error: Arc<LastError>,
    has_joined: AtomicBool,
}

impl Clients {
    fn new(settings: &ClientConfig, group: &str, assigned: &Arc<Assigned>) -> KafkaResult<Arc<Self>> {
        let (liveness, last_error) = (Arc::<Liveness>::default(), Arc::<LastError>::default());
        let client = |name: &str, assigned: Arc<Assigned>| {
            let member = Member::new(assigned, liveness.clone(), last_error.clone());
            Reader::from_config_and_context(settings.clone().set("group.id", name), member)
        };
        // The reader joins no group; the library wants a name nevertheless.
        let reader = client(&format!("{group}-read"), Arc::default())?;
        Ok(Arc::new(Clients {
            group: Arc::new(client(group, assigned.clone())?),
            reader: Arc::new(Mutex::new(reader)),
            liveness,
            last_error,
            has_joined: AtomicBool::new(false),
        }))
    }

    /// Has the reader report its errors. They wait in it until it is asked for something.
    fn poll_reader(&self) {
        if let Some(reader) = self.reader.try_lock() {
            while reader.poll(Duration::ZERO).is_some() {}
        }
    }

    fn join(&self, topic: &str) -> Result<(), BusError> {
        if !self.has_joined.load(Ordering::Relaxed) {
            self.group.subscribe(&[topic]).map_err(|error| BusError(error.to_string()))?;
            self.has_joined.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl KafkaEvents {
    /// The group of all that bring a topic to the subscribers of a deployment.
    pub fn group(deployment: &str, topic: EventTopic) -> String {
        match topic {
            EventTopic::Rewards => format!("heartline-{deployment}-cascade"),
            EventTopic::Positions => format!("heartline-{deployment}-cascade-positions"),
        }
    }

    /// Waits for no broker. `marks`: where it is kept which logs were read.
    pub fn open(
        config: &KafkaConfig,
        deployment: &str,
        topic: EventTopic,
        marks: Arc<dyn Marks>,
    ) -> Result<Self, KafkaRefused> {
        let refused = |error: KafkaError| KafkaRefused(error.to_string());
        let name = Self::group(deployment, topic);
        let topic: Arc<str> = match topic {
            EventTopic::Rewards => config.topics.rewards.as_str().into(),
            EventTopic::Positions => config.topics.positions.as_str().into(),
        };
        let (settings, assigned) = (settings(config), Arc::default());
        Ok(KafkaEvents {
            logs: Logs::new(topic.clone(), marks),
            looked: Mutex::default(),
            clients: Mutex::new(Clients::new(&settings, &name, &assigned).map_err(refused)?),
            topic,
            settings,
            group_name: name,
            assigned,
            lag: Lag::default(),
        })
    }

    fn clients(&self) -> Arc<Clients> {
        self.clients.lock().clone()
    }

    /// Replaces clients that are stuck in the library.
    fn replace_stuck(&self) -> Result<(), BusError> {
        let stuck = self.clients();
        // A count that runs on the stuck clients would be the one to drop them, and wait for their end.
        if !stuck.liveness.is_stuck(Instant::now()) || self.lag.is_counting() {
            return Ok(());
        }
        tracing::warn!(
            event = "cascade_reader_replaced",
            group = self.group_name,
            "kafka consumer is stuck; a new one begins"
        );
        let new = Clients::new(&self.settings, &self.group_name, &self.assigned);
        *self.clients.lock() = new.map_err(|error| BusError(error.to_string()))?;
        stuck.liveness.end();
        self.assigned.revoke_all();
        drop_aside(stuck);
        Ok(())
    }

    fn events(&self, Batch { partition, epoch, events, to }: Batch) -> PartEvents {
        PartEvents { part: self.logs.part(partition, epoch), events, to, is_end: false }
    }

    /// Looks beside the reading whether the logs are still the same: of one that was replaced by another of the same length
    /// nothing else tells.
    fn look_again(&self) {
        let mut looked = self.looked.lock();
        if looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return;
        }
        *looked = Some(Instant::now());
        let (reader, topic, assigned) = (self.clients().reader.clone(), self.topic.clone(), self.assigned.clone());
        spawn_blocking(move || {
            for (partition, marks) in assigned.marks() {
                match lookup::has(&reader.lock(), &topic, partition, marks[0]) {
                    Ok(true) => assigned.has_checked(partition, marks),
                    Ok(false) => assigned.doubt(),
                    // Nothing is known.
                    Err(_) => {}
                }
            }
        });
    }

    async fn offsets(&self, of_partitions: Vec<(i32, Offset)>) -> Result<Offsets, BusError> {
        let parts = self.logs.parts(of_partitions.iter().map(|(partition, _)| *partition)).await?;
        Ok(parts.into_iter().zip(of_partitions.into_iter().map(|(_, offset)| offset)).collect())
    }

    /// Finds out which log of a partition is being read, and reads a partition that is new to this member, and each new
    /// log, from where its remembered message says: the group's commits may be those of a log before.
    async fn look(&self, partition: i32) -> Result<(), BusError> {
        let epoch = self.logs.epoch(partition).await?;
        let mark = self.logs.mark(partition, epoch).await?;
        if let Some(mark) = mark
            && !self.ask(move |reader, topic| lookup::has(reader, topic, partition, mark)).await?
        {
            self.logs.change(partition, epoch + 1).await?;
            self.assigned.begin_again(partition);
            return Ok(());
        }
        if mark.is_none() || !self.assigned.is_placed(partition) {
            let from = mark.map_or(KafkaOffset::Beginning, |mark| KafkaOffset::Offset(kafka_offset(mark.offset)));
            let (group, topic) = (self.clients().group.clone(), self.topic.clone());
            blocking(move || group.seek(&topic, partition, from, ANSWER_TIMEOUT)).await?;
            self.assigned.begin_again(partition);
        }
        self.assigned.is(partition, epoch, mark);
        Ok(())
    }

    fn store_offset(&self, partition: i32, offset: Offset) -> KafkaResult<()> {
        // Another member reads on from what was committed before.
        if !self.assigned.has(partition) {
            return Ok(());
        }
        let mut offsets = TopicPartitionList::new();
        offsets.add_partition_offset(&self.topic, partition, KafkaOffset::Offset(kafka_offset(offset)))?;
        match self.clients().group.store_offsets(&offsets) {
            Err(_) if !self.assigned.has(partition) => Ok(()),
            stored => stored,
        }
    }

    /// Asks the reader without a group.
    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Reader, &str) -> KafkaResult<T> + Send + 'static,
    ) -> Result<T, BusError> {
        let (reader, topic) = (self.clients().reader.clone(), self.topic.clone());
        blocking(move || ask(&reader.lock(), &topic)).await
    }
}

impl Drop for KafkaEvents {
    fn drop(&mut self) {
        self.clients().liveness.end();
    }
}

impl EventArchive for KafkaEvents {
    fn has(&self, part: &Part) -> bool {
        self.logs.of(part).is_ok()
    }

    fn ends(&self) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move { self.offsets(self.ask(lookup::ends).await?).await })
    }

    fn before(&self, time: u64) -> BoxFuture<'_, Result<Offsets, BusError>> {
        Box::pin(async move {
            let before = self.ask(move |reader, topic| lookup::before(reader, topic, time));
            self.offsets(before.await?).await
        })
    }

    fn read(&self, part: Part, after: Offset, limit: usize) -> BoxFuture<'_, Result<PartEvents, BusError>> {
        Box::pin(async move {
            let (partition, _) = self.logs.of(&part)?;
            self.ask(move |reader, topic| lookup::events(reader, topic, (part, partition), after, limit)).await
        })
    }
}

impl EventSource for KafkaEvents {
    fn next(&self) -> BoxFuture<'_, Result<Option<PartEvents>, BusError>> {
        Box::pin(async move {
            loop {
                self.replace_stuck()?;
                let clients = self.clients();
                clients.join(&self.topic)?;
                self.lag.count(&clients, &self.topic);
                self.look_again();
                let (asked, topic, assigned) = (clients.clone(), self.topic.clone(), self.assigned.clone());
                let read = blocking(move || {
                    asked.poll_reader();
                    Ok(poll(&asked.group, &topic, &assigned))
                });
                let read = read.await?;
                if let Some(batch) = read {
                    clients.liveness.asked(true, Instant::now());
                    return Ok(Some(self.events(batch)));
                }
                if let Some(partition) = self.assigned.unknown() {
                    self.look(partition).await?;
                    continue;
                }
                if let Some(counted) = self.lag.counted().await {
                    return counted.map(|()| None);
                }
            }
        })
    }

    fn more(&self) -> Option<PartEvents> {
        self.assigned.take().map(|batch| self.events(batch))
    }

    fn commit(&self, part: Part, offset: Offset) -> BoxFuture<'_, Result<(), BusError>> {
        Box::pin(async move {
            let (partition, epoch) = self.logs.of(&part)?;
            // Another log is being read meanwhile, or another member reads it.
            if self.assigned.epoch(partition) != Some(epoch) {
                return Ok(());
            }
            // The library sends it later.
            self.store_offset(partition, offset).map_err(|error| BusError(error.to_string()))?;
            match self.assigned.checked(partition).filter(|checked| checked.offset <= offset) {
                Some(checked) => self.logs.keep(partition, epoch, checked).await,
                None => Ok(()),
            }
        })
    }

    fn lag(&self) -> u64 {
        self.lag.events()
    }

    fn degraded(&self) -> Option<String> {
        self.logs.degraded()
    }
}

/// The settings of both clients, without the name of the group.
fn settings(config: &KafkaConfig) -> ClientConfig {
    let mut settings = client::settings(config);
    settings
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", client::millis(SESSION_TIMEOUT))
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "true")
        .set("auto.commit.interval.ms", client::millis(COMMIT_EVERY))
        .set("enable.auto.offset.store", "false")
        .set("topic.metadata.refresh.interval.ms", client::millis(METADATA_EVERY))
        .set("queued.max.messages.kbytes", FETCHED_KIB_MAX.to_string());
    settings
}

async fn blocking<T: Send + 'static>(call: impl FnOnce() -> KafkaResult<T> + Send + 'static) -> Result<T, BusError> {
    match spawn_blocking(call).await {
        Ok(answered) => answered.map_err(|error| BusError(error.to_string())),
        Err(_) => Err(BusError("the process is ending".to_owned())),
    }
}

/// The next messages of one partition, if there are some within [`WAIT`].
fn poll(group: &Reader, topic: &str, assigned: &Assigned) -> Option<Batch> {
    let mut wait = if assigned.held() == Held::default() { WAIT } else { Duration::ZERO };
    while let Some(polled) = group.poll(wait) {
        // The next polls take only messages that are there already, and no more than fit.
        wait = Duration::ZERO;
        match polled {
            Ok(message) => {
                let mark = mark_of(offset_of(message.offset()), &message);
                assigned.read(message.partition(), mark, structured(&message));
                let held = assigned.held();
                if held.messages >= HELD_MAX || held.bytes >= HELD_BYTES_MAX {
                    break;
                }
            }
            // It may be made at any time; by itself the library looks again much later.
            Err(KafkaError::MessageConsumption(RDKafkaErrorCode::UnknownTopicOrPartition)) => {
                assigned.doubt();
                std::thread::sleep(AGAIN_AFTER);
                let _tried_again = group.subscribe(&[topic]);
                break;
            }
            // The library tries again.
            Err(error) => {
                tracing::debug!(%error, "kafka: consumer of the cascade");
                break;
            }
        }
    }
    assigned.take()
}

/// One more than Kafka's.
fn offset_of(offset: i64) -> Offset {
    u64::try_from(offset).unwrap_or_default() + 1
}

/// The one after an offset, as Kafka counts them; or a time.
fn kafka_offset(offset: u64) -> i64 {
    i64::try_from(offset).unwrap_or(i64::MAX)
}
