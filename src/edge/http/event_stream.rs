//! Server-Sent Events: endless answers, of which a bounded number is open at a time.

use std::convert::Infallible;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderValue, header};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::Problem;

/// When to ask again for a stream.
const FULL_RETRY_SECONDS: u64 = 2;
/// How long a client waits before it opens a stream again, milliseconds.
const RETRY: &str = "retry: 2000\n\n";

/// Open streams.
pub type OpenStreams = Gauge<i64, AtomicI64>;

/// Bounds the streams that are open at a time.
#[derive(Clone)]
pub struct StreamSlots {
    free: Arc<Semaphore>,
    open: OpenStreams,
}

/// A slot among the streams, given back when dropped.
pub struct StreamSlot {
    open: OpenStreams,
    _permit: OwnedSemaphorePermit,
}

impl StreamSlots {
    /// Slots for `count` streams at a time.
    pub fn new(count: usize, open: OpenStreams) -> Self {
        StreamSlots { free: Arc::new(Semaphore::new(count)), open }
    }

    /// `full`: the error text when no slot is free.
    pub fn take(&self, full: &str) -> Result<StreamSlot, Problem> {
        let permit = self.free.clone().try_acquire_owned();
        let permit = permit.map_err(|_| Problem::unavailable(full, FULL_RETRY_SECONDS))?;
        self.open.inc();
        Ok(StreamSlot { open: self.open.clone(), _permit: permit })
    }
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        self.open.dec();
    }
}

/// One event; `data` has one line.
pub fn event(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}

/// The events, until they or `end` end. The next one is asked for when there is room for it.
pub fn answered(
    events: impl Stream<Item = Bytes> + Send + 'static,
    end: impl Future<Output: Send> + Send + 'static,
) -> Response {
    let head = stream::once(ready(Bytes::from_static(RETRY.as_bytes())));
    let all = head.chain(events).take_until(end).map(Ok::<_, Infallible>);
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    (headers, Body::from_stream(all)).into_response()
}
