//! The body of a request while it arrives.

use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hyper::body::{Body, Frame, Incoming, SizeHint};

use crate::shutdown::Stop;

/// How long a drain waits for the rest of what a client has begun to send.
pub const DRAIN_GRACE: Duration = Duration::from_secs(1);

/// Passes a body on as it arrives. A drain cuts off what does not arrive in time.
pub struct ArrivingBody {
    body: Incoming,
    stop: Stop,
    /// Made when the body is waited for: most bodies are there with their head.
    cut_off: Option<BoxFuture<'static, ()>>,
}

/// The drain did not wait for the rest of a body.
#[derive(Debug, thiserror::Error)]
#[error("the body was cut off by a drain")]
pub struct CutOff;

impl ArrivingBody {
    pub fn new(body: Incoming, stop: Stop) -> Self {
        ArrivingBody { body, stop, cut_off: None }
    }
}

impl CutOff {
    /// Whether it is behind this error.
    pub fn caused(error: &(dyn Error + 'static)) -> bool {
        std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source())
            .any(|error| error.is::<CutOff>())
    }
}

impl Body for ArrivingBody {
    type Data = Bytes;
    type Error = Box<dyn Error + Send + Sync>;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let cut_off = this.cut_off.get_or_insert_with(|| {
            let draining = this.stop.draining();
            async move {
                draining.await;
                tokio::time::sleep(DRAIN_GRACE).await;
            }
            .boxed()
        });
        ready!(cut_off.as_mut().poll(cx));
        Poll::Ready(Some(Err(Box::new(CutOff))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
