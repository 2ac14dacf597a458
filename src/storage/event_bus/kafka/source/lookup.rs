//! Looks up what is asked for, with a reader that has joined no group. Its calls block.

use std::time::Instant;

use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaResult;
use rdkafka::message::Message as _;
use rdkafka::topic_partition_list::{Offset as Place, TopicPartitionList};

use super::{ANSWER_TIMEOUT, Reader, WAIT, kafka_offset, offset_of};
use crate::storage::event_bus::Offset;
use crate::storage::event_bus::kafka::message::structured;
use crate::storage::event_bus::part::Part;
use crate::storage::event_bus::source::PartEvents;

/// The offset of the newest message of each partition; 0 = there was none.
pub fn ends(reader: &Reader, topic: &str) -> KafkaResult<Vec<(i32, Offset)>> {
    partitions(reader, topic)?.into_iter().map(|partition| Ok((partition, end(reader, topic, partition)?))).collect()
}

/// The offset of the last message of each partition that is from before this time, milliseconds.
pub fn before(reader: &Reader, topic: &str, time: u64) -> KafkaResult<Vec<(i32, Offset)>> {
    let mut times = TopicPartitionList::new();
    for partition in partitions(reader, topic)? {
        times.add_partition_offset(topic, partition, Place::Offset(kafka_offset(time)))?;
    }
    let found = reader.offsets_for_times(times, ANSWER_TIMEOUT)?;
    let last = |partition: i32, first: Place| match first {
        // Kafka's offset of the first from then on is the number of those before it.
        Place::Offset(first) => Ok((partition, u64::try_from(first).unwrap_or_default())),
        // All are earlier.
        _ => Ok((partition, end(reader, topic, partition)?)),
    };
    found.elements().iter().map(|element| last(element.partition(), element.offset())).collect()
}

/// The events of a partition behind an offset, of at most so many messages.
pub fn events(
    reader: &Reader,
    topic: &str,
    (part, partition): (Part, i32),
    after: Offset,
    limit: usize,
) -> KafkaResult<PartEvents> {
    let (low, high) = reader.fetch_watermarks(topic, partition, ANSWER_TIMEOUT)?;
    let (from, high) = (kafka_offset(after).max(low), u64::try_from(high).unwrap_or_default());
    let (mut events, mut to, mut read) = (Vec::new(), offset_of(from) - 1, 0);
    if to < high {
        let mut assignment = TopicPartitionList::new();
        assignment.add_partition_offset(topic, partition, Place::Offset(from))?;
        reader.assign(&assignment)?;
        let until = Instant::now() + ANSWER_TIMEOUT;
        while read < limit && to < high && Instant::now() < until {
            let Some(message) = reader.poll(WAIT).transpose()? else { continue };
            read += 1;
            to = offset_of(message.offset());
            events.extend(structured(&message).map(|event| (to, event)));
        }
        reader.unassign()?;
    }
    Ok(PartEvents { part, events, to: to.max(after), is_end: to >= high })
}

fn partitions(reader: &Reader, topic: &str) -> KafkaResult<Vec<i32>> {
    let metadata = reader.fetch_metadata(Some(topic), ANSWER_TIMEOUT)?;
    let of_topic = metadata.topics().iter().filter(|found| found.name() == topic);
    Ok(of_topic.flat_map(|found| found.partitions()).map(|partition| partition.id()).collect())
}

fn end(reader: &Reader, topic: &str, partition: i32) -> KafkaResult<Offset> {
    let (_, high) = reader.fetch_watermarks(topic, partition, ANSWER_TIMEOUT)?;
    Ok(u64::try_from(high).unwrap_or_default())
}
