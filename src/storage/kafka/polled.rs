//! A client of the library with a thread that takes its reports.
//!
//! The library's own `ThreadedProducer` waits in steps of 100 ms and spins through the last millisecond of each, which
//! is a hundredth of a processor for a client that has nothing to do. This thread never waits in the library: it takes
//! the reports that there are, every few milliseconds while messages are under way, and otherwise when one is sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rdkafka::config::{ClientConfig, FromClientConfigAndContext};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};

use super::liveness::Liveness;
use super::reports::Reports;
use storage::delivery::Receipt;

/// How often reports are taken while messages are under way.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// How often connection errors are collected while no message is under way.
const IDLE_WAIT: Duration = Duration::from_secs(1);

/// Its end waits for its thread.
pub(super) struct PolledProducer {
    producer: Arc<BaseProducer<Reports>>,
    liveness: Arc<Liveness>,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl PolledProducer {
    pub fn new(settings: &ClientConfig, reports: Reports) -> KafkaResult<Self> {
        let liveness = reports.liveness.clone();
        let producer = Arc::new(BaseProducer::from_config_and_context(settings, reports.clone())?);
        let ends = Arc::new(AtomicBool::new(false));
        let (polled, is_over) = (producer.clone(), ends.clone());
        let run = move || {
            while !is_over.load(Ordering::Acquire) {
                match polled.in_flight_count() {
                    0 => thread::park_timeout(IDLE_WAIT),
                    _ => thread::sleep(BUSY_WAIT),
                }
                take_all(&polled, &reports);
            }
        };
        let thread = thread::Builder::new().name("kafka-reports".into()).spawn(run).expect("a thread");
        Ok(PolledProducer { producer, liveness, ends, thread: Some(thread) })
    }

    /// Takes a message and does not wait. If the library does not take it, its receipt is given back.
    pub fn send(&self, message: BaseRecord<'_, [u8], [u8], Box<Receipt>>) -> Result<(), (KafkaError, Box<Receipt>)> {
        self.producer.send(message).map_err(|(error, message)| (error, message.delivery_opaque))?;
        self.wake();
        Ok(())
    }

    /// Why this client is to be replaced: an error that it cannot get over, or brokers that it does not find again.
    pub fn failure(&self) -> Option<String> {
        let fatal = self.producer.client().fatal_error().map(|(_, error)| error);
        let is_stuck =
            || self.liveness.is_stuck(Instant::now()).then(|| "no message was confirmed for a minute".to_owned());
        fatal.or_else(is_stuck)
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

/// A single poll takes the reports of one batch only.
fn take_all(producer: &BaseProducer<Reports>, reports: &Reports) {
    loop {
        let before = reports.count();
        producer.poll(Duration::ZERO);
        if reports.count() == before {
            return;
        }
    }
}

impl Drop for PolledProducer {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            // It panics only in what reports are handed to, and the panic has been told.
            let _ = thread.join();
        }
    }
}
