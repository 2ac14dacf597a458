//! Reads a topic as any consumer would.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Headers, Message};
use rdkafka::{ClientConfig, Offset, TopicPartitionList};
use serde_json::Value;

use crate::kafka_bus::PATIENCE;

#[derive(Clone, Debug)]
pub struct Read {
    pub partition: i32,
    pub key: String,
    pub headers: BTreeMap<String, String>,
    pub value: Value,
}

impl Read {
    /// The number of [`super::claim`].
    pub fn number(&self) -> u64 {
        self.value["oid"].as_str().unwrap().parse().unwrap()
    }
}

/// A message as it is.
#[derive(Clone, Debug)]
pub struct Raw {
    pub partition: i32,
    pub key: String,
    pub headers: BTreeMap<String, String>,
    pub value: Vec<u8>,
}

/// All events there are now: of each partition in its order.
pub fn read(broker: &str, topic: &str) -> Vec<Read> {
    read_raw(broker, topic).into_iter().map(parse).collect()
}

/// All messages there are now: of each partition in its order.
pub fn read_raw(broker: &str, topic: &str) -> Vec<Raw> {
    let consumer: BaseConsumer =
        ClientConfig::new().set("bootstrap.servers", broker).set("group.id", "none").create().unwrap();
    let mut wanted = 0;
    let mut all = TopicPartitionList::new();
    for partition in partitions(&consumer, topic) {
        wanted += length(&consumer, topic, partition);
        all.add_partition_offset(topic, partition, Offset::Beginning).unwrap();
    }
    consumer.assign(&all).unwrap();
    let deadline = Instant::now() + PATIENCE;
    let mut read = Vec::new();
    while (read.len() as i64) < wanted {
        assert!(Instant::now() < deadline, "{} of {wanted} messages of {topic} are read", read.len());
        let Some(message) = consumer.poll(Duration::from_millis(200)) else { continue };
        read.push(raw(&message.unwrap()));
    }
    read
}

/// How many messages a partition has. One of a new topic has no leader for a moment.
fn length(consumer: &BaseConsumer, topic: &str, partition: i32) -> i64 {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match consumer.fetch_watermarks(topic, partition, PATIENCE) {
            Ok((low, high)) => return high - low,
            Err(error) => assert!(Instant::now() < deadline, "partition {partition} of {topic}: {error}"),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

fn parse(Raw { partition, key, headers, value }: Raw) -> Read {
    Read { partition, key, headers, value: serde_json::from_slice(&value).unwrap() }
}

fn raw(message: &impl Message) -> Raw {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let headers = message.headers().into_iter().flat_map(Headers::iter);
    Raw {
        partition: message.partition(),
        key: text(message.key().unwrap_or_default()),
        headers: headers.map(|header| (header.key.to_owned(), text(header.value.unwrap()))).collect(),
        value: message.payload().unwrap_or_default().to_vec(),
    }
}

/// The partitions of a topic; none when it is missing.
pub fn partitions<C: ClientContext + rdkafka::consumer::ConsumerContext>(
    consumer: &BaseConsumer<C>,
    topic: &str,
) -> Vec<i32> {
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE).unwrap();
    metadata.topics()[0].partitions().iter().map(rdkafka::metadata::MetadataPartition::id).collect()
}
