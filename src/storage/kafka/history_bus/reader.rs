//! Reads a topic as a member of a group, on a thread of its own: the library's calls block, and serve its callbacks.
//!
//! It asks the library again and again even while nothing more is to be read, with its partitions paused: a member that
//! does not ask for minutes would lose them. Offsets are stored when their messages are committed here; the library
//! sends them to the brokers every second, and when it gives up a partition or ends.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, FromClientConfigAndContext, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList, TopicPartitionListElem};

use super::shared::Shared;
use crate::client;
use crate::last_error::LastError;
use crate::liveness::{Liveness, drop_aside};
use crate::unread;
use crate::watch::TopicWatch;
use storage::config::kafka::KafkaConfig;

/// How much the library fetches ahead, compressed. It is little: the store is slower than the bus, so more would only
/// take memory. A broker sends a single message even if it is longer.
const FETCHED_KIB_MAX: usize = 256;
const FETCH_BYTES: usize = 256 << 10;
/// A member that says nothing for so long has died, and its partitions are given to others.
const SESSION_TIMEOUT: Duration = Duration::from_secs(10);
const HEARTBEAT: Duration = Duration::from_secs(3);
const COMMIT_EVERY: Duration = Duration::from_secs(1);
/// A topic that was missing, or has more partitions, is seen after so long.
const METADATA_EVERY: Duration = Duration::from_secs(10);
/// How long it waits for a message at a time.
const WAIT: Duration = Duration::from_millis(100);
const COUNT_EVERY: Duration = Duration::from_secs(5);
const COUNT_TIMEOUT: Duration = Duration::from_secs(1);
const AGAIN_AFTER: Duration = Duration::from_secs(1);

pub(super) struct Reader {
    settings: ClientConfig,
    topic: String,
    shared: Arc<Shared>,
    watch: Arc<TopicWatch>,
    last_error: Arc<LastError>,
}

/// The callbacks of the library.
struct Member {
    topic: String,
    shared: Arc<Shared>,
    liveness: Arc<Liveness>,
    watch: Arc<TopicWatch>,
    last_error: Arc<LastError>,
}

type Client = BaseConsumer<Member>;

struct Clients {
    member: Client,
    liveness: Arc<Liveness>,
    /// Asks for the ends of partitions, and reads nothing: see [`unread`].
    ends: Client,
}

impl Reader {
    /// Waits for no broker.
    pub fn start(
        config: &KafkaConfig,
        group: &str,
        shared: Arc<Shared>,
        watch: Arc<TopicWatch>,
        last_error: Arc<LastError>,
    ) -> Result<thread::JoinHandle<()>, String> {
        let (settings, topic) = (settings(config, group), config.topics.history.clone());
        let reader = Reader { settings, topic, shared, watch, last_error };
        let clients = reader.clients().map_err(|error| error.to_string())?;
        let thread = thread::Builder::new().name("history-read".into());
        thread.spawn(move || reader.run(clients)).map_err(|error| error.to_string())
    }

    fn clients(&self) -> KafkaResult<Clients> {
        let liveness = Arc::<Liveness>::default();
        let member = self.client(&liveness)?;
        member.subscribe(&[&self.topic])?;
        Ok(Clients { member, liveness, ends: self.client(&Arc::default())? })
    }

    fn client(&self, liveness: &Arc<Liveness>) -> KafkaResult<Client> {
        let Reader { topic, shared, watch, last_error, .. } = self;
        let member = Member {
            topic: topic.clone(),
            shared: shared.clone(),
            liveness: liveness.clone(),
            watch: watch.clone(),
            last_error: last_error.clone(),
        };
        Client::from_config_and_context(&self.settings, member)
    }

    fn run(self, clients: Clients) {
        let mut clients = Some(clients);
        while !self.shared.ends() {
            match clients.take().map_or_else(|| self.clients(), Ok) {
                Ok(clients) if self.read(&clients) => {}
                Ok(clients) => self.replace(clients),
                Err(error) => tracing::error!(%error, "cannot create a new kafka consumer; trying again"),
            }
            if !self.shared.ends() {
                thread::sleep(AGAIN_AFTER);
            }
        }
    }

    /// The next clients have other partitions, or the same ones anew.
    fn replace(&self, clients: Clients) {
        clients.liveness.end();
        self.shared.revoke_all();
        drop_aside(clients);
    }

    /// Reads until it is asked to end. False: the client is stuck or has failed, and another one has to take its place.
    fn read(&self, clients: &Clients) -> bool {
        let client = &clients.member;
        let (mut is_paused, mut counted) = (false, Instant::now());
        while !self.shared.ends() {
            is_paused = self.pause(client, is_paused);
            match client.poll(WAIT) {
                Some(Ok(message)) => {
                    clients.liveness.asked(true, Instant::now());
                    let (key, bytes) = (message.key().unwrap_or_default(), message.payload().unwrap_or_default());
                    self.shared.read(message.partition(), message.offset(), key, bytes);
                }
                Some(Err(KafkaError::MessageConsumptionFatal(error))) => {
                    tracing::error!(event = "history_reader_replaced", %error, "kafka consumer failed; a new one begins");
                    return false;
                }
                // The library tries again, and has told the member.
                Some(Err(error)) => tracing::debug!(%error, "kafka: consumer"),
                None => {}
            }
            store(client, &self.topic, &self.shared);
            if counted.elapsed() >= COUNT_EVERY {
                let committed = self.committed(clients);
                clients.liveness.asked(committed.is_ok(), Instant::now());
                match committed.and_then(|committed| self.count(clients, &committed)) {
                    Ok(lag) => self.shared.counts(lag),
                    Err(error) => tracing::debug!(%error, "kafka: cannot count what is not read"),
                }
                counted = Instant::now();
            }
            if clients.liveness.is_stuck(Instant::now()) {
                tracing::warn!(event = "history_reader_replaced", "kafka consumer is stuck; a new one begins");
                return false;
            }
        }
        true
    }

    /// Pauses reading while enough is read and not committed. Returns whether it is paused.
    fn pause(&self, client: &Client, is_paused: bool) -> bool {
        let pauses = if is_paused { !self.shared.has_room() } else { self.shared.is_full() };
        if !pauses && !is_paused {
            return false;
        }
        // Again and again while it lasts: partitions that are new are not paused.
        let done = client.assignment().and_then(|partitions| match pauses {
            true => client.pause(&partitions),
            false => client.resume(&partitions),
        });
        if let Err(error) = done {
            tracing::debug!(%error, pauses, "kafka: cannot pause or resume partitions");
            return true;
        }
        pauses
    }

    /// The group's committed offsets of the partitions read here. Fails if no broker answers one of the clients.
    fn committed(&self, Clients { member, ends, .. }: &Clients) -> KafkaResult<TopicPartitionList> {
        // Serves its callbacks.
        while ends.poll(Duration::ZERO).is_some() {}
        ends.fetch_metadata(Some(&self.topic), COUNT_TIMEOUT)?;
        unread::committed(member, &self.topic, COUNT_TIMEOUT)
    }

    fn count(&self, Clients { ends, .. }: &Clients, committed: &TopicPartitionList) -> KafkaResult<BTreeMap<i32, u64>> {
        let count = |element: TopicPartitionListElem<'_>| {
            Ok((element.partition(), unread::of_partition(ends, &self.topic, &element, COUNT_TIMEOUT)?))
        };
        committed.elements().into_iter().map(count).collect()
    }
}

fn settings(config: &KafkaConfig, group: &str) -> ClientConfig {
    let mut settings = client::settings(config);
    settings
        .set("group.id", group)
        .set("partition.assignment.strategy", "cooperative-sticky")
        .set("session.timeout.ms", client::millis(SESSION_TIMEOUT))
        .set("heartbeat.interval.ms", client::millis(HEARTBEAT))
        .set("auto.offset.reset", "earliest")
        .set("enable.auto.commit", "true")
        .set("auto.commit.interval.ms", client::millis(COMMIT_EVERY))
        .set("enable.auto.offset.store", "false")
        .set("topic.metadata.refresh.interval.ms", client::millis(METADATA_EVERY))
        .set("queued.max.messages.kbytes", FETCHED_KIB_MAX.to_string())
        .set("fetch.queue.backoff.ms", client::millis(WAIT))
        .set("fetch.max.bytes", FETCH_BYTES.to_string())
        // Only producers use it, but the library refuses a consumer whose fetches are smaller.
        .set("message.max.bytes", FETCH_BYTES.to_string())
        .set("max.partition.fetch.bytes", FETCH_BYTES.to_string());
    settings
}

/// Stores the committed offsets in the library, which sends them to the brokers.
fn store(client: &Client, topic: &str, shared: &Shared) {
    let new = shared.take_new();
    if new.is_empty() {
        return;
    }
    let mut offsets = TopicPartitionList::with_capacity(new.len());
    let added = new
        .iter()
        .try_for_each(|(partition, next)| offsets.add_partition_offset(topic, *partition, Offset::Offset(*next)));
    // A partition that was lost a moment ago is read again elsewhere.
    if let Err(error) = added.and_then(|()| client.store_offsets(&offsets)) {
        tracing::debug!(%error, "kafka: cannot store offsets");
    }
}

fn partitions(list: &TopicPartitionList) -> Vec<i32> {
    list.elements().iter().map(|element| element.partition()).collect()
}

impl ClientContext for Member {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        client::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if client::is_new(&self.last_error, &error, reason) {
            self.watch.look();
        }
    }
}

impl ConsumerContext for Member {
    fn pre_rebalance(&self, client: &Client, rebalance: &Rebalance<'_>) {
        match rebalance {
            _ if self.liveness.is_over() => {}
            Rebalance::Assign(list) => {
                let partitions = partitions(list);
                tracing::info!(event = "history_partitions_assigned", ?partitions, "reading partitions of history");
                self.shared.assign(partitions);
            }
            Rebalance::Revoke(list) => {
                // The last that the library sends to the brokers for them.
                store(client, &self.topic, &self.shared);
                let partitions = partitions(list);
                tracing::info!(event = "history_partitions_revoked", ?partitions, "giving up partitions of history");
                self.shared.revoke(partitions);
            }
            Rebalance::Error(error) => tracing::warn!(%error, "kafka: partitions are not shared out"),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        match result {
            Ok(()) => self.last_error.over(),
            // There was nothing new.
            Err(error) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::NoOffset) => {}
            Err(error) => drop(self.last_error.is(&format!("offsets are not committed: {error}"))),
        }
    }
}
