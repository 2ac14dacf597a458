//! Sends messages to one topic, and goes on with a new client after a fatal error of the library, or when it is stuck.

use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::OwnedHeaders;
use rdkafka::producer::BaseRecord;

use super::client;
use super::last_error::LastError;
use super::polled::PolledProducer;
use super::reports::Reports;
use super::topic::Topic;
use super::watch::TopicWatch;
use storage::config::kafka::KafkaConfig;
use storage::delivery::{Delivery, Receipt};

/// The settings in which producers differ.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Messages that wait in the library; more are refused.
    pub queue_messages_max: u32,
    /// Their bytes.
    pub queue_kib_max: u32,
    /// A longer message is refused.
    pub message_bytes_max: usize,
    /// Requests to one broker that may be without an answer at a time.
    pub in_flight_max: u8,
    /// The name of a codec of Kafka's.
    pub compression: &'static str,
}

/// May be used from any thread.
pub struct Producer {
    topic: String,
    settings: ClientConfig,
    client: Mutex<Arc<PolledProducer>>,
    reports: Reports,
}

impl Producer {
    /// Waits for no broker. The topic is looked after from now on.
    pub fn open(config: &KafkaConfig, topic: Topic, terms: Terms) -> Result<Self, String> {
        let (name, settings) = (topic.name.clone(), settings(config, terms));
        let last_error = Arc::<LastError>::default();
        let watch = TopicWatch::start(topic, client::settings(config), last_error.clone());
        let reports = Reports::new(watch.map_err(|error| error.to_string())?, last_error, config.delivery_timeout);
        let client = PolledProducer::new(&settings, reports.clone()).map_err(|error| error.to_string())?;
        Ok(Producer { topic: name, settings, client: Mutex::new(Arc::new(client)), reports })
    }

    /// Takes a message and does not wait; an empty key is none. What the library does not take is refused.
    pub fn send(&self, key: &[u8], headers: Option<OwnedHeaders>, value: &[u8], receipt: Receipt) {
        let mut record = BaseRecord::with_opaque_to(&self.topic, Box::new(receipt)).payload(value);
        record.key = (!key.is_empty()).then_some(key);
        record.headers = headers;
        if let Err((error, receipt)) = self.client().send(record) {
            receipt.report(Delivery::Refused(why(&error)));
        }
    }

    /// Known faults of the topic.
    pub fn complaints(&self) -> Vec<String> {
        self.reports.complaints()
    }

    /// The client that takes messages: another one when it has failed.
    fn client(&self) -> Arc<PolledProducer> {
        let mut current = self.client.lock();
        let Some(error) = current.failure() else { return current.clone() };
        match PolledProducer::new(&self.settings, self.reports.anew()) {
            Ok(new) => {
                tracing::warn!(event = "kafka_producer_replaced", error, "kafka producer failed; a new one begins");
                let failed = std::mem::replace(&mut *current, Arc::new(new));
                // Its end waits for its threads.
                if let Err(error) = thread::Builder::new().name("kafka-end".into()).spawn(move || drop(failed)) {
                    tracing::warn!(%error, "old kafka producer still has messages in flight");
                }
            }
            Err(error) => tracing::error!(%error, "cannot create a new kafka producer; keeping the old one"),
        }
        current.clone()
    }
}

/// The library repeats what a broker has not answered, until `kafka.delivery_timeout` is over, and sends nothing twice
/// that a broker has.
fn settings(config: &KafkaConfig, terms: Terms) -> ClientConfig {
    let mut settings = client::settings(config);
    settings
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("max.in.flight.requests.per.connection", terms.in_flight_max.to_string())
        .set("message.timeout.ms", client::millis(config.delivery_timeout))
        .set("topic.metadata.propagation.max.ms", client::millis(config.delivery_timeout))
        .set("request.timeout.ms", client::millis(client::REQUEST_TIMEOUT))
        .set("linger.ms", client::millis(config.linger))
        .set("queue.buffering.max.messages", terms.queue_messages_max.to_string())
        .set("queue.buffering.max.kbytes", terms.queue_kib_max.to_string())
        .set("message.max.bytes", terms.message_bytes_max.to_string())
        .set("compression.type", terms.compression)
        // As the Java client does it, so that a consumer that joins topics by key finds both in the same partition.
        .set("partitioner", "murmur2_random");
    settings
}

fn why(error: &KafkaError) -> String {
    match error.rdkafka_error_code() {
        Some(RDKafkaErrorCode::QueueFull) => "too much waits for the brokers".to_owned(),
        _ => error.to_string(),
    }
}
