//! Places for owners that are delivered to at the same time.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Owners that are delivered to at the same time.
pub struct Places {
    free: Arc<Semaphore>,
    all: u32,
}

/// Places that are reserved for turns. Those that are not used are free again when this is dropped.
pub struct Kept(Option<OwnedSemaphorePermit>);

impl Places {
    pub fn new(all: usize) -> Self {
        let all = u32::try_from(all).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        Places { free: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// At most so many, and none if none is free.
    pub fn keep(&self, limit: usize) -> Kept {
        let count = self.free.available_permits().min(limit) as u32;
        Kept(self.free.clone().try_acquire_many_owned(count).ok())
    }

    /// At most so many, once one is free.
    pub async fn wait(&self, limit: usize) -> Kept {
        let first = self.free.clone().acquire_owned().await.ok();
        let Kept(more) = self.keep(limit - 1);
        let mut kept = first;
        if let (Some(kept), Some(more)) = (&mut kept, more) {
            kept.merge(more);
        }
        Kept(kept)
    }

    pub fn are_full(&self) -> bool {
        self.free.available_permits() == 0
    }

    /// Until no turn runs, for at most so long.
    pub async fn empty(&self, at_most: Duration) {
        let _ = timeout(at_most, self.free.acquire_many(self.all)).await;
    }
}

impl Kept {
    /// One of them, for a turn of its own.
    pub fn split(&mut self) -> Option<OwnedSemaphorePermit> {
        self.0.as_mut()?.split(1)
    }

    pub fn count(&self) -> usize {
        self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits)
    }
}
