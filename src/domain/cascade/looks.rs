//! Looks at the event bus, as the API learns of them: a mark beside the queues tells when the last one was.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::time::clock::Clock;
use storage::owner_queues::OwnerQueues;

/// How often the mark is written by one process.
const KEEP_EVERY: Duration = Duration::from_secs(20);

/// Shared by the cascades of all topics in a process.
pub struct Looks {
    queues: Arc<dyn OwnerQueues>,
    clock: Arc<Clock>,
    /// When the mark was last written, or the attempt failed.
    tried: Mutex<Option<Instant>>,
}

impl Looks {
    pub fn new(queues: Arc<dyn OwnerQueues>, clock: Arc<Clock>) -> Self {
        Looks { queues, clock, tried: Mutex::default() }
    }

    /// Keeps that the bus was looked at just now. A mark that cannot be written is left out: the store has probes of its own.
    pub async fn keep(&self) {
        if !self.is_due() {
            return;
        }
        if let Err(error) = self.queues.keep_look(self.clock.now()).await {
            tracing::debug!(%error, "the last look at the event bus cannot be kept");
        }
    }

    fn is_due(&self) -> bool {
        let mut tried = self.tried.lock();
        let is_due = tried.is_none_or(|tried| tried.elapsed() >= KEEP_EVERY);
        if is_due {
            *tried = Some(Instant::now());
        }
        is_due
    }
}
