//! Looks after the topic, on a thread of its own: the library's questions block.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rdkafka::config::ClientConfig;
use tokio::runtime::{Builder, Runtime};

use super::topic::{Found, Topic};

/// How often it looks while all is well, and while it is not.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// A topic that was made is known to all brokers a little later.
const LOOK_AFTER_MAKING: Duration = Duration::from_secs(1);

/// Ends, at its next look, when it is dropped.
pub struct TopicWatch {
    complaints: Arc<Mutex<Vec<String>>>,
    asked: SyncSender<()>,
}

struct Watcher {
    topic: Topic,
    settings: ClientConfig,
    complaints: Arc<Mutex<Vec<String>>>,
    /// Something was wrong at the last look; None: there was none yet.
    was_wrong: Option<bool>,
}

impl TopicWatch {
    pub fn start(topic: Topic, settings: ClientConfig) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().build()?;
        let complaints = Arc::default();
        let (asked, asks) = sync_channel(1);
        let watcher = Watcher { topic, settings, complaints: Arc::clone(&complaints), was_wrong: None };
        thread::Builder::new().name("kafka-topic".into()).spawn(move || watcher.run(&runtime, &asks))?;
        Ok(TopicWatch { complaints, asked })
    }

    /// What was wrong at the last look.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has it look soon.
    pub fn look(&self) {
        // It has been asked already, then.
        let _ = self.asked.try_send(());
    }
}

impl Watcher {
    fn run(mut self, runtime: &Runtime, asks: &Receiver<()>) {
        loop {
            let found = runtime.block_on(self.topic.check(&self.settings));
            let pause = match &found {
                Found::Sound { .. } => LOOK_EVERY,
                Found::Made => LOOK_AFTER_MAKING,
                Found::Wrong(_) | Found::Away(_) => LOOK_AGAIN,
            };
            self.tell(found);
            if asks.recv_timeout(pause) == Err(RecvTimeoutError::Disconnected) {
                return;
            }
        }
    }

    /// Says what has changed since the last look.
    fn tell(&mut self, found: Found) {
        let topic = &self.topic.name;
        let complaints = match found {
            Found::Sound { partitions } => {
                if self.was_wrong != Some(false) {
                    tracing::info!(topic, partitions, "events go to Kafka");
                }
                Vec::new()
            }
            Found::Made => {
                tracing::info!(topic, "the topic was missing and has been created");
                Vec::new()
            }
            Found::Wrong(complaints) => complaints,
            Found::Away(why) => vec![why],
        };
        self.was_wrong = Some(!complaints.is_empty());
        let mut known = self.complaints.lock().unwrap_or_else(PoisonError::into_inner);
        for complaint in complaints.iter().filter(|complaint| !known.contains(complaint)) {
            tracing::error!("{complaint}");
        }
        *known = complaints;
    }
}
