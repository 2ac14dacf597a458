//! How many messages of its partitions a member of a group has not read.
//!
//! The ends of partitions are asked for by a client that reads nothing: a request of the member to the broker that it reads
//! from waits behind its fetch, which takes half a second for each partition that has nothing new.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList, TopicPartitionListElem};

/// The group's committed offsets of the member's partitions. Fails if no broker answers, not if a partition is unsound.
pub fn committed(
    member: &BaseConsumer<impl ConsumerContext>,
    topic: &str,
    timeout: Duration,
) -> KafkaResult<TopicPartitionList> {
    let assignment = member.assignment()?;
    match assignment.count() {
        // The library would wait for ever for an answer about no partition.
        0 => member.fetch_metadata(Some(topic), timeout).map(|_| assignment),
        _ => member.committed_offsets(assignment, timeout),
    }
}

/// The messages of one partition after what is committed; all that it has if nothing is.
pub fn of_partition(
    asking: &BaseConsumer<impl ConsumerContext>,
    topic: &str,
    committed: &TopicPartitionListElem<'_>,
    timeout: Duration,
) -> KafkaResult<u64> {
    let (low, high) = asking.fetch_watermarks(topic, committed.partition(), timeout)?;
    let next = if let Offset::Offset(next) = committed.offset() { next.max(low) } else { low };
    Ok(u64::try_from(high - next).unwrap_or_default())
}
