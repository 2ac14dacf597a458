//! How much of the topic of history was carried home. Its calls block.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer, DefaultConsumerContext};
use rdkafka::error::{KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};

use crate::{client, unread};
use storage::config::kafka::KafkaConfig;
use storage::event_bus::BusError;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

type Asking = BaseConsumer<DefaultConsumerContext>;

/// The state of the topic and of the jobs that read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Messages that the topic has.
    pub messages: u64,
    /// Messages that no job has committed yet.
    pub unread: u64,
    /// Jobs that read it now.
    pub jobs: usize,
    /// Messages in the quarantine, however old.
    pub quarantined: u64,
    /// When the newest message was sent, milliseconds since 1970; `None`: the topic has none.
    pub newest: Option<u64>,
}

impl Carried {
    /// `group`: of the jobs.
    ///
    /// # Errors
    /// Kafka does not answer.
    pub fn look(config: &KafkaConfig, group: &str) -> Result<Self, BusError> {
        look(config, group).map_err(|error| BusError(error.to_string()))
    }
}

fn look(config: &KafkaConfig, group: &str) -> KafkaResult<Carried> {
    let mut settings = client::settings(config);
    settings.set("group.id", group).set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
    let asking: Asking = settings.create()?;
    let topic = &config.topics.history;
    let mut carried = Carried { quarantined: messages(&asking, &config.topics.quarantine)?, ..Carried::default() };
    let groups = asking.fetch_group_list(Some(group), ANSWER_TIMEOUT)?;
    carried.jobs = groups.groups().iter().map(|group| group.members().len()).sum();
    let partitions = partitions(&asking, topic)?;
    if partitions.is_empty() {
        return Ok(carried);
    }
    let mut asked = TopicPartitionList::with_capacity(partitions.len());
    for partition in &partitions {
        asked.add_partition(topic, *partition);
    }
    for committed in asking.committed_offsets(asked, ANSWER_TIMEOUT)?.elements() {
        carried.unread += unread::of_partition(&asking, topic, &committed, ANSWER_TIMEOUT)?;
    }
    carried.messages = messages(&asking, topic)?;
    for partition in partitions {
        carried.newest = carried.newest.max(newest(&asking, topic, partition)?);
    }
    Ok(carried)
}

/// None, if there is no such topic.
fn partitions(asking: &Asking, topic: &str) -> KafkaResult<Vec<i32>> {
    let metadata = asking.fetch_metadata(Some(topic), ANSWER_TIMEOUT)?;
    let found = metadata.topics().iter().filter(|found| found.name() == topic && found.error().is_none());
    Ok(found.flat_map(|found| found.partitions()).map(|partition| partition.id()).collect())
}

fn messages(asking: &Asking, topic: &str) -> KafkaResult<u64> {
    let mut messages = 0;
    for partition in partitions(asking, topic)? {
        let (low, high) = asking.fetch_watermarks(topic, partition, ANSWER_TIMEOUT)?;
        messages += u64::try_from(high - low).unwrap_or_default();
    }
    Ok(messages)
}

/// When the last message of a partition was sent.
fn newest(asking: &Asking, topic: &str, partition: i32) -> KafkaResult<Option<u64>> {
    let (low, high) = asking.fetch_watermarks(topic, partition, ANSWER_TIMEOUT)?;
    if high <= low {
        return Ok(None);
    }
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, Offset::Offset(high - 1))?;
    asking.assign(&assignment)?;
    let found = match asking.poll(ANSWER_TIMEOUT) {
        Some(Ok(message)) => Ok(message.timestamp().to_millis().and_then(|at| u64::try_from(at).ok())),
        Some(Err(error)) if error.rdkafka_error_code() == Some(RDKafkaErrorCode::PartitionEOF) => Ok(None),
        Some(Err(error)) => Err(error),
        None => Ok(None),
    };
    asking.unassign()?;
    found
}
