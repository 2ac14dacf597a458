//! Looks after a topic, on a thread of its own: the library's questions block.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use rdkafka::config::ClientConfig;
use tokio::runtime::{Builder, Runtime};

use super::last_error::LastError;
use super::topic::{Topic, TopicState};

/// How often it looks while all is well, and while it is not.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// From one look to the next, however often it is asked.
const LOOK_GAP: Duration = Duration::from_millis(500);
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
    last_error: Arc<LastError>,
}

impl TopicWatch {
    /// `last_error`: of a client that uses the topic, which is told why there is no answer.
    pub fn start(topic: Topic, settings: ClientConfig, last_error: Arc<LastError>) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().build()?;
        let complaints = Arc::default();
        let (asked, asks) = sync_channel(1);
        let watcher = Watcher { topic, settings, complaints: Arc::clone(&complaints), was_wrong: None, last_error };
        thread::Builder::new().name("kafka-topic".into()).spawn(move || watcher.run(&runtime, &asks))?;
        Ok(TopicWatch { complaints, asked })
    }

    /// The faults found at the last look.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints.lock().clone()
    }

    /// Has it look soon.
    pub fn look(&self) {
        // It has been asked already, then.
        let _ = self.asked.try_send(());
    }
}

impl Watcher {
    fn run(mut self, runtime: &Runtime, asks: &Receiver<()>) {
        let mut asked = false;
        loop {
            let found = runtime.block_on(self.topic.check(&self.settings));
            let pause = match &found {
                // A partition loses its leader some seconds after its broker is gone.
                TopicState::Sound { .. } if asked => LOOK_AGAIN,
                TopicState::Sound { .. } => LOOK_EVERY,
                TopicState::Made => LOOK_AFTER_MAKING,
                TopicState::Wrong(_) | TopicState::Away(_) => LOOK_AGAIN,
            };
            self.report(found);
            asked = match asks.recv_timeout(pause) {
                Ok(()) => {
                    // Messages that fail may ask without end.
                    thread::sleep(LOOK_GAP);
                    true
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => return,
            };
        }
    }

    /// Reports what has changed since the last look.
    fn report(&mut self, found: TopicState) {
        let topic = &self.topic.name;
        let complaints = match found {
            TopicState::Sound { partitions } => {
                if self.was_wrong != Some(false) {
                    tracing::info!(event = "kafka_connected", topic, partitions, "kafka topic is as configured");
                }
                Vec::new()
            }
            TopicState::Made => {
                tracing::info!(event = "kafka_topic_created", topic, "created the missing kafka topic");
                Vec::new()
            }
            TopicState::Wrong(complaints) => complaints,
            TopicState::Away(why) => vec![self.topic.complaint(&self.last_error.away(&why))],
        };
        self.was_wrong = Some(!complaints.is_empty());
        let mut known = self.complaints.lock();
        for complaint in complaints.iter().filter(|complaint| !known.contains(complaint)) {
            tracing::error!(event = "kafka_degraded", complaint, "kafka or its topic is not as configured");
        }
        *known = complaints;
    }
}
