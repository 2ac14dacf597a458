//! The timeouts of an HTTP connection: until its first request, while one is answered, and between two.

use std::cell::Cell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body as Inner, HttpBody};
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// An answer is handed over in pieces of this size. They are taken as the client reads, so the end of the last one
/// means that it has read all the others.
const PIECE_BYTES: usize = 16 * 1024;

/// The settings of the timeouts.
#[derive(Clone, Copy, Debug)]
pub struct HttpTimeouts {
    /// From the accepted connection to its first whole request head.
    pub handshake: Duration,
    /// From the head of a request to the end of its answer. An answer that has begun gets the time of a handshake on
    /// top.
    pub request: Duration,
    /// From the end of an answer to the next whole request head.
    pub keep_alive: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    FirstRequest,
    /// For the rest of a request, for its answer, or for the client to read it.
    Answer,
    NextRequest,
}

/// The timer of one connection.
pub(super) struct HttpTimer {
    timeouts: HttpTimeouts,
    /// The current wait, and its start.
    wait: Cell<(Wait, Instant)>,
    changed: Notify,
}

impl HttpTimer {
    pub fn start(timeouts: HttpTimeouts) -> Rc<Self> {
        let wait = Cell::new((Wait::FirstRequest, Instant::now()));
        Rc::new(HttpTimer { timeouts, wait, changed: Notify::new() })
    }

    /// The head of a request is here.
    pub fn request(&self) {
        self.wait_for(Wait::Answer);
    }

    /// The answer as the connection sends it. After its end the next request is waited for.
    pub fn answer(self: &Rc<Self>, body: Inner) -> AnswerBody {
        AnswerBody { body, begun: Bytes::new(), streams: false, timer: self.clone() }
    }

    /// A stream that lasts as long as the client reads it: the timeout of an answer starts again with each piece.
    pub fn stream(self: &Rc<Self>, body: Inner) -> AnswerBody {
        AnswerBody { body, begun: Bytes::new(), streams: true, timer: self.clone() }
    }

    fn wait_for(&self, wait: Wait) {
        self.wait.set((wait, Instant::now()));
        self.changed.notify_one();
    }

    pub fn waits_for(&self) -> Wait {
        self.wait.get().0
    }

    /// Resolves when a wait has timed out, with the kind of wait.
    pub async fn expired(&self) -> Wait {
        loop {
            let (wait, since) = self.wait.get();
            let timeout = match wait {
                Wait::FirstRequest => self.timeouts.handshake,
                Wait::Answer => self.timeouts.request + self.timeouts.handshake,
                Wait::NextRequest => self.timeouts.keep_alive,
            };
            tokio::select! {
                biased;
                () = self.changed.notified() => {}
                () = sleep_until(since + timeout) => return wait,
            }
        }
    }
}

/// The body of an answer. It ends when it is dropped.
pub(super) struct AnswerBody {
    body: Inner,
    /// The rest of a frame that is larger than a piece.
    begun: Bytes,
    streams: bool,
    timer: Rc<HttpTimer>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.begun.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.begun = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        if self.streams {
            self.timer.wait_for(Wait::Answer);
        }
        let piece = PIECE_BYTES.min(self.begun.len());
        Poll::Ready(Some(Ok(Frame::data(self.begun.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.begun.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (begun, mut hint) = (self.begun.len() as u64, HttpBody::size_hint(&self.body));
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + begun);
        }
        hint.set_lower(hint.lower() + begun);
        hint
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        self.timer.wait_for(Wait::NextRequest);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::{StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    const TIMEOUTS: HttpTimeouts = HttpTimeouts {
        handshake: Duration::from_secs(5),
        request: Duration::from_secs(30),
        keep_alive: Duration::from_secs(75),
    };

    async fn expired(timer: &HttpTimer) -> (Wait, u64) {
        let begun = Instant::now();
        (timer.expired().await, begun.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn each_wait_has_its_own_timeout() {
        let timer = HttpTimer::start(TIMEOUTS);
        assert_eq!(expired(&timer).await, (Wait::FirstRequest, 5));
        timer.request();
        let answer = timer.answer(Inner::from("an answer"));
        assert_eq!(expired(&timer).await, (Wait::Answer, 35));
        drop(answer);
        assert_eq!(expired(&timer).await, (Wait::NextRequest, 75));
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_of_state_restarts_the_running_timeout() {
        let timer = HttpTimer::start(TIMEOUTS);
        let answered = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            timer.request();
            drop(timer.answer(Inner::empty()));
        };
        assert_eq!(tokio::join!(expired(&timer), answered).0, (Wait::NextRequest, 76));
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_may_go_on_for_as_long_as_it_is_read() {
        let timer = HttpTimer::start(TIMEOUTS);
        timer.request();
        let pieces = stream::repeat_with(|| Ok::<_, Infallible>("piece")).then(async |piece| {
            tokio::time::sleep(Duration::from_secs(1)).await;
            piece
        });
        let mut answer = timer.stream(Inner::from_stream(pieces));
        let read = async {
            for _ in 0..100 {
                answer.frame().await.expect("a frame").expect("a piece");
            }
        };
        tokio::select! {
            _ = timer.expired() => panic!("cut off while it was read"),
            () = read => {}
        }
        assert_eq!(expired(&timer).await, (Wait::Answer, 35));
    }

    #[tokio::test]
    async fn a_long_answer_is_sent_whole_in_pieces() {
        let text: Vec<u8> = (0..PIECE_BYTES * 2 + 5).map(|index| index as u8).collect();
        let timer = HttpTimer::start(TIMEOUTS);
        let mut answer = timer.answer(Inner::from(text.clone()));
        let (mut sent, mut pieces) = (Vec::new(), Vec::new());
        while let Some(frame) = answer.frame().await {
            let data = frame.expect("a frame").into_data().expect("data");
            pieces.push(data.len());
            sent.extend(data);
            let left = (text.len() - sent.len()) as u64;
            assert_eq!((answer.size_hint().exact(), answer.is_end_stream()), (Some(left), left == 0));
        }
        assert_eq!((sent == text, pieces), (true, vec![PIECE_BYTES, PIECE_BYTES, 5]));
    }
}
