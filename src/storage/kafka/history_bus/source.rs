//! Packs from the topic of history.
//!
//! **Memory.** Up to the given bound of messages that are read and not committed, and 0.5 MiB, compressed, that the
//! library has fetched ahead.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::reader::Reader;
use super::refused::KafkaRefused;
use super::shared::Shared;
use crate::client;
use crate::last_error::LastError;
use crate::watch::TopicWatch;
use storage::config::kafka::KafkaConfig;
use storage::history_bus::source::{MessageRef, PackSource, RawPack};

/// One reader of a group. It ends, in its own time, when it is dropped.
pub struct KafkaSource {
    shared: Arc<Shared>,
    watch: Arc<TopicWatch>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl KafkaSource {
    /// The group of all that write the history of a deployment.
    pub fn group(deployment: &str) -> String {
        format!("heartline-history-{deployment}")
    }

    /// Waits for no broker. A missing topic is made as [`KafkaHistory`](super::KafkaHistory) makes it. `bytes_max`: of
    /// messages that are read and not committed, before no more are read.
    pub fn open(config: &KafkaConfig, group: &str, bytes_max: usize) -> Result<Self, KafkaRefused> {
        let shared = Arc::new(Shared::new(bytes_max));
        let last_error = Arc::<LastError>::default();
        let watch = TopicWatch::start(super::topic(config), client::settings(config), last_error.clone());
        let watch = Arc::new(watch.map_err(|error| KafkaRefused(error.to_string()))?);
        let thread = Reader::start(config, group, shared.clone(), watch.clone(), last_error).map_err(KafkaRefused)?;
        Ok(KafkaSource { shared, watch, thread: Mutex::new(Some(thread)) })
    }

    /// Sends what is committed to the brokers, and gives the partitions to the others of the group. Blocks.
    pub fn close(&self) {
        self.shared.end();
        if let Some(thread) = self.thread.lock().take() {
            thread.join().expect("the reader does not panic");
        }
    }
}

impl Drop for KafkaSource {
    fn drop(&mut self) {
        self.shared.end();
    }
}

impl PackSource for KafkaSource {
    fn next(&self, bytes_max: usize) -> BoxFuture<'_, Vec<RawPack>> {
        Box::pin(self.shared.next(bytes_max))
    }

    fn commit(&self, message_refs: &[MessageRef]) {
        self.shared.commit(message_refs);
    }

    fn lag(&self) -> BTreeMap<i32, u64> {
        self.shared.lag()
    }

    fn complaints(&self) -> Vec<String> {
        self.watch.complaints()
    }
}
