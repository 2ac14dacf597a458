//! How much a list costs its store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Rows that a list has looked at so far, also those that are not on its page. Counted while it reads, so that a list
/// that is given up has cost what it has read.
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
