//! A stream, which lasts as long as its client reads it.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::permits::Permit;

/// In the extensions of each request. A route whose answer is a stream calls [`LongAnswer::begins`]: from then on the
/// connection has no permit and no time limit, so that streams take no permits from requests. The route has to bound
/// the number of streams.
#[derive(Clone)]
pub struct LongAnswer {
    permit: Arc<Mutex<Option<Permit>>>,
    begun: Arc<Notify>,
}

impl LongAnswer {
    pub(super) fn of(permit: Permit) -> Self {
        LongAnswer { permit: Arc::new(Mutex::new(Some(permit))), begun: Arc::default() }
    }

    pub fn begins(&self) {
        drop(self.permit.lock().take());
        self.begun.notify_one();
    }

    /// Keeps the permit, since the request has come. False if the permit was given away before.
    pub(super) fn keep(&self) -> bool {
        self.permit.lock().as_ref().is_some_and(Permit::keep)
    }

    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }
}
