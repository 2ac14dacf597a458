//! Messages that are no packs.

use std::collections::BTreeMap;

use heartline::storage::delivery::{Delivery, Receipt};
use heartline::storage::history_bus::codec;
use heartline::storage::history_bus::quarantine::{Quarantine, Quarantined};
use heartline::storage::history_bus::source::{MessageRef, RawPack};
use heartline::storage_kafka::history_bus::quarantine::KafkaQuarantine;
use tokio::sync::mpsc::unbounded_channel;

use crate::kafka_bus::broker::shared;
use crate::kafka_bus::history::deliveries;
use crate::kafka_bus::reader::read_raw;
use crate::kafka_bus::settings;
use crate::kafka_bus::topics::is_made;

#[tokio::test]
#[ignore = "needs Kafka: tests/run kafka"]
async fn a_message_is_kept_as_it_was_with_its_source_and_the_reason() {
    let kafka = settings(&shared());
    let quarantine = KafkaQuarantine::open(&kafka).unwrap();
    let (receipts, reports) = unbounded_channel();
    let longest: Vec<u8> = (0..16 << 20).map(|_| rand::random()).collect();
    let messages = [(&b"19"[..], vec![0xff; 3]), (b"", Vec::new()), (b"7", longest)];
    for (number, (key, bytes)) in (0..).zip(&messages) {
        let message_ref = MessageRef { partition: 4, offset: 1_000 + number, term: 1 };
        let pack = RawPack { message_ref, key: key.to_vec(), bytes: bytes.clone() };
        let reason = codec::decode(bytes).unwrap_err().to_string();
        quarantine.put(Quarantined { pack, reason, receipt: Receipt::new(number as u64, receipts.clone()) });
    }
    drop(receipts);
    assert_eq!(deliveries(reports).await, vec![Delivery::Published; 3]);
    let mut all = read_raw(&kafka.brokers[0], &kafka.topics.quarantine);
    all.sort_by_key(|raw| raw.headers["source_offset"].clone());
    for (number, ((key, bytes), raw)) in messages.iter().zip(&all).enumerate() {
        assert_eq!((raw.key.as_bytes(), &raw.value == bytes), (*key, true));
        let reason = raw.headers["reason"].clone();
        assert!(!reason.is_empty());
        let source = [("source_partition", "4"), ("source_offset", &(1_000 + number).to_string())];
        let mut expected: BTreeMap<String, String> =
            source.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        expected.insert("source_topic".to_owned(), kafka.topics.history.clone());
        expected.insert("reason".to_owned(), reason);
        assert_eq!(raw.headers, expected);
    }
    assert_eq!(all.len(), 3);
    is_made(&kafka.topics.quarantine, &[("retention.ms", "172800000"), ("max.message.bytes", "17825792")]).await;
    assert_eq!(quarantine.complaints(), [""; 0]);
}
