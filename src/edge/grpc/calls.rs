//! The calls of one connection: while there is none it is idle.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;
use tonic::Status;
use tonic::body::Body;

/// Shared by a connection and its calls.
#[derive(Clone, Debug)]
pub struct Calls(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    in_progress: usize,
    /// The end of the last one, or the beginning of the connection.
    ended: Instant,
}

/// A call, until it is dropped.
#[derive(Debug)]
pub struct Call(Calls);

/// The answer to a call, which lasts until it is sent or given up.
pub struct Answer {
    body: Body,
    _call: Option<Call>,
}

impl Calls {
    pub fn new() -> Self {
        Calls(Arc::new(Mutex::new(State { in_progress: 0, ended: Instant::now() })))
    }

    pub fn begin(&self) -> Call {
        self.0.lock().in_progress += 1;
        Call(self.clone())
    }

    /// `None` while there is a call.
    pub fn idle_since(&self) -> Option<Instant> {
        let state = self.0.lock();
        (state.in_progress == 0).then_some(state.ended)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.in_progress -= 1;
        state.ended = Instant::now();
    }
}

impl Answer {
    pub fn of(call: Option<Call>, body: Body) -> Body {
        Body::new(Answer { body, _call: call })
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::Full;
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_from_the_end_of_its_last_call() {
        let (calls, began) = (Calls::new(), Instant::now());
        advance(Duration::from_secs(1)).await;
        assert_eq!(calls.idle_since(), Some(began));
        let (one, other) = (calls.begin(), calls.begin());
        drop(one);
        assert_eq!(calls.idle_since(), None, "one is in progress");
        let answer = Answer::of(Some(other), Body::new(Full::new(Bytes::from_static(b"x"))));
        advance(Duration::from_secs(1)).await;
        assert_eq!(calls.idle_since(), None, "it is not sent");
        drop(answer);
        assert_eq!(calls.idle_since(), Some(began + Duration::from_secs(2)));
    }
}
