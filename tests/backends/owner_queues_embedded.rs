//! Owners' queues of the embedded store as a backend.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use heartline::storage::owner_queues::{Bounds, OwnerQueues};
use heartline::storage_embedded::owner_queues::EmbeddedQueues;

use crate::backends::owner_queues::QueuesBackend;

pub struct InDirectory {
    // Ends before its directory does.
    queues: Option<Arc<EmbeddedQueues>>,
    dir: tempfile::TempDir,
    bounds: Bounds,
}

impl InDirectory {
    fn open(&mut self) {
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64;
        let queues = EmbeddedQueues::open(self.dir.path(), self.bounds, Arc::new(clock)).unwrap();
        self.queues = Some(Arc::new(queues));
    }
}

impl QueuesBackend for InDirectory {
    fn empty(bounds: Bounds) -> Self {
        let mut backend = InDirectory { queues: None, dir: tempfile::tempdir().unwrap(), bounds };
        backend.open();
        backend
    }

    fn queues(&self) -> Arc<dyn OwnerQueues> {
        self.queues.clone().unwrap()
    }

    fn reopened(mut self) -> Self {
        self.queues = None;
        self.open();
        self
    }
}
