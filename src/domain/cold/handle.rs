//! The history store of a process that may start while it is away.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use storage::history_store::{HistoryAway, HistoryStore};

/// Opens the history store.
pub type OpenHistory =
    Box<dyn Fn() -> BoxFuture<'static, Result<Arc<dyn HistoryStore>, HistoryAway>> + Send + Sync + 'static>;

type Opening = Shared<BoxFuture<'static, Result<Arc<dyn HistoryStore>, HistoryAway>>>;

/// Opens the history store when it is needed first, and again after a failure. Only one attempt is made at a time, and it
/// goes on when its askers wait no longer.
pub struct HistoryHandle {
    open: OpenHistory,
    opening: Mutex<Option<Opening>>,
}

impl HistoryHandle {
    pub fn new(open: OpenHistory) -> Arc<Self> {
        Arc::new(HistoryHandle { open, opening: Mutex::default() })
    }

    /// Must be called within a tokio runtime.
    pub async fn get(&self) -> Result<Arc<dyn HistoryStore>, HistoryAway> {
        let opening = self.opening.lock().get_or_insert_with(|| self.begin()).clone();
        let opened = opening.clone().await;
        if opened.is_err() {
            // Unless another asker has begun the next attempt.
            self.opening.lock().take_if(|now| now.ptr_eq(&opening));
        }
        opened
    }

    fn begin(&self) -> Opening {
        let opening = (self.open)().shared();
        tokio::spawn(opening.clone());
        opening
    }
}
