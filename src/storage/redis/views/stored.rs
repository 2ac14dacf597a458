//! Totals of the statistics store, read with a timeout.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use model::ids::Content;
use model::sums::{StoredTotal, Unit};
use storage::statistics::Statistics;

/// The timeout of a read of totals. After it the totals are unknown.
const READ_MAX: Duration = Duration::from_millis(500);
/// After a failed read, totals are unknown for this time, so that requests do not wait for a store that is away.
const PAUSE: Duration = Duration::from_millis(500);

pub struct StoredTotals {
    statistics: Arc<dyn Statistics>,
    /// No read begins before this time.
    paused_until: Mutex<Option<Instant>>,
}

impl StoredTotals {
    pub fn new(statistics: Arc<dyn Statistics>) -> Self {
        StoredTotals { statistics, paused_until: Mutex::default() }
    }

    /// The totals in the order asked; `None`: currently unknown.
    pub async fn read(&self, contents: Vec<Content>) -> Option<Vec<StoredTotal>> {
        if contents.is_empty() {
            return Some(Vec::new());
        }
        if self.paused_until.lock().is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let count = contents.len();
        let read = timeout(READ_MAX, self.statistics.totals(Unit::ALL, contents)).await;
        let read = read.ok().and_then(Result::ok).filter(|totals| totals.len() == count);
        *self.paused_until.lock() = read.is_none().then(|| Instant::now() + PAUSE);
        read
    }
}
