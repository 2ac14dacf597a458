//! Counters that the connections and requests of one user share.

use std::sync::atomic::{AtomicU32, Ordering};

/// Readable without a lock.
#[derive(Debug, Default)]
pub struct UserCounts {
    connections: AtomicU32,
    changes: AtomicU32,
}

impl UserCounts {
    /// The user's connections here.
    pub fn connections(&self) -> u32 {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn set_connections(&self, count: usize) {
        self.connections.store(count as u32, Ordering::Relaxed);
    }

    /// Counts the changes of the user's records that this gateway knows of, except positions that move on. The counter
    /// wraps: compare values only for equality.
    pub fn changes(&self) -> u32 {
        self.changes.load(Ordering::Acquire)
    }

    /// To be called once the change is committed, and before its sender is answered.
    pub fn changed(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }
}
