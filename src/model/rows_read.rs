//! The cost of a list for its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of rows that a list has read so far, including rows that are not on its page. It is updated while the list
/// reads, so an abandoned list is charged for its rows, too.
#[derive(Clone, Debug, Default)]
pub struct RowsRead(Arc<AtomicU64>);

impl RowsRead {
    pub fn add(&self, rows: u64) {
        self.0.fetch_add(rows, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
