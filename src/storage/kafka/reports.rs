//! The reports of the library: the delivery of each message, and errors of connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::{DeliveryResult, ProducerContext};

use super::client;
use super::last_error::LastError;
use super::liveness::Liveness;
use super::watch::TopicWatch;
use storage::delivery::{Delivery, Receipt};

/// Passes on what the library has to say.
#[derive(Clone)]
pub(super) struct Reports {
    last_error: Arc<LastError>,
    watch: Arc<TopicWatch>,
    delivery_timeout: Duration,
    count: Arc<AtomicU64>,
    /// The liveness of one client.
    pub liveness: Arc<Liveness>,
}

impl Reports {
    pub fn new(watch: TopicWatch, last_error: Arc<LastError>, delivery_timeout: Duration) -> Self {
        Reports {
            last_error,
            watch: Arc::new(watch),
            delivery_timeout,
            count: Arc::default(),
            liveness: Arc::default(),
        }
    }

    /// Those of another client.
    pub fn anew(&self) -> Self {
        Reports { liveness: Arc::default(), ..self.clone() }
    }

    /// Known faults of the topic.
    pub fn complaints(&self) -> Vec<String> {
        self.watch.complaints()
    }

    /// Messages that were reported so far.
    pub fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        client::log(level, facility, line);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if client::is_new(&self.last_error, &error, reason) {
            self.watch.look();
        }
    }
}

impl ProducerContext for Reports {
    type DeliveryOpaque = Box<Receipt>;

    fn delivery(&self, report: &DeliveryResult<'_>, receipt: Box<Receipt>) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let Err((error, _)) = report else {
            self.last_error.over();
            self.liveness.asked(true, Instant::now());
            return receipt.report(Delivery::Published);
        };
        self.watch.look();
        let (limit, code) = (self.delivery_timeout, error.rdkafka_error_code());
        if code == Some(RDKafkaErrorCode::MessageTimedOut) {
            self.liveness.asked(false, Instant::now());
        }
        receipt.report(match code {
            Some(RDKafkaErrorCode::MessageTimedOut) => Delivery::Unknown(match self.last_error.text() {
                trouble if trouble.is_empty() => format!("not delivered in {limit:?}"),
                trouble => format!("not delivered in {limit:?}: {trouble}"),
            }),
            Some(RDKafkaErrorCode::PurgeInflight) => Delivery::Unknown(error.to_string()),
            _ => Delivery::Refused(error.to_string()),
        });
    }
}
