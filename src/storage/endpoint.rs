//! Endpoints outside: takes one delivery, and says what became of it.

use std::time::Duration;

use futures_util::future::BoxFuture;

use model::subscribers::{Delivery, FailureReason};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 2xx.
    Delivered,
    /// 410: nothing is to be sent there any more.
    Gone,
    Failed {
        reason: FailureReason,
        /// The HTTP status of the answer, if there was one.
        status: Option<u16>,
        /// How long the receiver asks to wait.
        retry_after: Option<Duration>,
    },
}

/// Sends requests. May be used from any thread that runs in a tokio runtime with its timer and I/O on.
pub trait Endpoint: Send + Sync + 'static {
    /// Sends one request, in bounded time. If it fails, it may have arrived. A dropped future may still send it.
    fn deliver(&self, delivery: Delivery) -> BoxFuture<'_, Outcome>;
}
