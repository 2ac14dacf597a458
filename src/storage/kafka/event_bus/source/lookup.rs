//! Looks up what is asked for, with a reader that has joined no group. Its calls block.

use std::collections::BTreeMap;
use std::time::Instant;

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use rdkafka::topic_partition_list::{Offset as KafkaOffset, TopicPartitionList, TopicPartitionListElem};

use super::logs::mark_of;
use super::{ANSWER_TIMEOUT, Reader, WAIT, kafka_offset, offset_of};
use crate::event_bus::message::structured;
use storage::event_bus::Offset;
use storage::event_bus::part::Part;
use storage::event_bus::source::{LogMark, PartEvents};

/// The offset of the newest message of each partition; 0 = there was none.
pub fn ends(reader: &Reader, topic: &str) -> KafkaResult<Vec<(i32, Offset)>> {
    let offsets = offsets(reader, topic, KafkaOffset::End)?;
    Ok(offsets.into_iter().map(|(partition, end)| (partition, end.unwrap_or_default())).collect())
}

/// The offset of the last message of each partition that is from before this time, milliseconds.
pub fn before(reader: &Reader, topic: &str, time: u64) -> KafkaResult<Vec<(i32, Offset)>> {
    // A message that comes in between is not taken for one from before.
    let ends: BTreeMap<i32, Offset> = ends(reader, topic)?.into_iter().collect();
    let offsets = offsets(reader, topic, KafkaOffset::Offset(kafka_offset(time)))?;
    // Kafka's offset of the first message from then on is the number of those before it. Without one, all are earlier.
    let last = |(partition, first): (i32, Option<Offset>)| (partition, first.or(ends.get(&partition).copied()));
    Ok(offsets.into_iter().map(last).map(|(partition, last)| (partition, last.unwrap_or_default())).collect())
}

/// The events of a partition after an offset, of at most so many messages.
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
        assignment.add_partition_offset(topic, partition, KafkaOffset::Offset(from))?;
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

/// Whether a partition has this message, or has removed it since: otherwise it is another log.
pub fn has(reader: &Reader, topic: &str, partition: i32, mark: LogMark) -> KafkaResult<bool> {
    let (low, high) = reader.fetch_watermarks(topic, partition, ANSWER_TIMEOUT)?;
    let sought = kafka_offset(mark.offset) - 1;
    if sought >= high || sought < low {
        return Ok(sought < low);
    }
    let mut assignment = TopicPartitionList::new();
    assignment.add_partition_offset(topic, partition, KafkaOffset::Offset(sought))?;
    reader.assign(&assignment)?;
    let until = Instant::now() + ANSWER_TIMEOUT;
    let mut found = Err(KafkaError::MessageConsumption(RDKafkaErrorCode::OperationTimedOut));
    while found.is_err() && Instant::now() < until {
        // An error may be an old one, from when brokers were away.
        let Some(Ok(message)) = reader.poll(WAIT) else { continue };
        // After it: that offset has none any more.
        found = Ok(message.offset() != sought || mark_of(mark.offset, &message) == mark);
    }
    reader.unassign()?;
    found
}

/// The first offset from a time on in each partition, milliseconds, or its end: one question for all of them. `None`: there
/// is none.
fn offsets(reader: &Reader, topic: &str, from: KafkaOffset) -> KafkaResult<Vec<(i32, Option<Offset>)>> {
    let metadata = reader.fetch_metadata(Some(topic), ANSWER_TIMEOUT)?;
    let mut asked = TopicPartitionList::new();
    for found in metadata.topics().iter().filter(|found| found.name() == topic) {
        for partition in found.partitions() {
            asked.add_partition_offset(topic, partition.id(), from)?;
        }
    }
    if asked.count() == 0 {
        return Ok(Vec::new());
    }
    let first_of = |element: TopicPartitionListElem<'_>| {
        element.error()?;
        let KafkaOffset::Offset(first) = element.offset() else { return Ok((element.partition(), None)) };
        Ok((element.partition(), u64::try_from(first).ok()))
    };
    reader.offsets_for_times(asked, ANSWER_TIMEOUT)?.elements().into_iter().map(first_of).collect()
}
