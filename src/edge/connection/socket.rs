//! A WebSocket with the functions that the gateway needs: messages in, frames out, a close that arrives.
//!
//! An idle socket owns no buffer. It reads, decodes and writes with the [`ScratchBuffers`] of its thread. Only within a
//! message it has a decoder of its own, and only while its peer does not read, a copy of the unsent bytes.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{Frame, FrameHeader};

use super::close::{self, CloseReason};
use super::decoder::{Decoder, Received};
use super::inflow::{LimitExceeded, Used};
use super::scratch_buffers::{Buffers, ScratchBuffers};
use super::stream::Stream;

/// How long a close frame may take to be sent, and how long input is discarded after it, so that a TCP reset does not
/// overtake it.
const LINGER: Duration = Duration::from_secs(1);
/// Reads before others of the thread get their turn, so that a client that sends a lot does not hold up the others.
const READS_MAX: u8 = 4;
/// The bytes of frames that are gathered for one write; further frames follow when these are sent.
const WRITE_BYTES: usize = 16 * 1024;

/// Frames could not be sent.
#[derive(Debug, PartialEq, Eq)]
pub enum SendError {
    TooSlow,
    Lost,
}

pub struct Socket {
    stream: Stream,
    scratch: Rc<ScratchBuffers>,
    /// While a message, or more than one, has been read in part.
    decoder: Option<Box<Decoder>>,
    used: Used,
    unsent: Option<Box<Unsent>>,
    /// In this pass.
    reads_left: u8,
}

/// The bytes that the kernel does not take now.
struct Unsent {
    bytes: Vec<u8>,
    sent: usize,
    since: Instant,
}

/// Frames that go out together.
pub struct Outgoing<'a> {
    buffers: &'a mut Buffers,
    scratch: &'a ScratchBuffers,
}

impl Socket {
    /// `read` is what was already read of `stream` beyond the upgrade request.
    pub fn new(stream: Stream, read: &[u8], scratch: Rc<ScratchBuffers>) -> Self {
        let now = Instant::now();
        let mut socket =
            Socket { stream, scratch, decoder: None, used: Used::new(now), unsent: None, reads_left: READS_MAX };
        if !read.is_empty() {
            // It was bounded by the buffer it was read into.
            let _ = socket.feed(read, now);
        }
        socket
    }

    /// The next message. Not to be asked while it [`is_stuck`](Self::is_stuck), since pings are answered at once.
    pub fn poll_receive(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Received> {
        loop {
            if let Some(heard) = self.decode(cx) {
                return Poll::Ready(heard);
            }
            if let Err(heard) = ready!(self.poll_read(cx, now)) {
                return Poll::Ready(heard);
            }
        }
    }

    /// The next message, once what waits has been sent. Cancel-safe.
    pub async fn receive(&mut self) -> Received {
        if self.flush().await.is_err() {
            return Received::Lost;
        }
        poll_fn(|cx| self.poll_receive(cx, Instant::now())).await
    }

    /// Decodes the bytes read so far.
    fn decode(&mut self, cx: &mut Context<'_>) -> Option<Received> {
        let decoder = self.decoder.as_mut()?;
        let mut answers = std::mem::take(&mut self.scratch.buffers.borrow_mut().out);
        let heard = decoder.next(&mut answers);
        if decoder.is_at_rest()
            && let Some(decoder) = self.decoder.take()
        {
            self.scratch.rest(decoder);
        }
        let sent = self.send_bytes(cx, &answers);
        answers.clear();
        self.scratch.buffers.borrow_mut().out = answers;
        let heard = heard?;
        self.scratch.flow.heard(heard.bytes());
        Some(if sent.is_ok() { heard } else { Received::Lost })
    }

    fn poll_read(&mut self, cx: &mut Context<'_>, now: Instant) -> Poll<Result<(), Received>> {
        let Some(reads_left) = self.reads_left.checked_sub(1) else {
            self.reads_left = READS_MAX;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        };
        let scratch = self.scratch.clone();
        let buffers = &mut *scratch.buffers.borrow_mut();
        let mut read = ReadBuf::new(&mut *buffers.read);
        let Poll::Ready(result) = Pin::new(&mut self.stream).poll_read(cx, &mut read) else {
            self.reads_left = READS_MAX;
            return Poll::Pending;
        };
        self.reads_left = reads_left;
        let fed = match result {
            Ok(()) if read.filled().is_empty() => Err(Received::Lost),
            Ok(()) => {
                let excess = |excess: LimitExceeded| Received::Wrong(excess.into());
                self.feed(read.filled(), now).map_err(excess)
            }
            Err(_) => Err(Received::Lost),
        };
        Poll::Ready(fed)
    }

    fn feed(&mut self, read: &[u8], now: Instant) -> Result<(), LimitExceeded> {
        let decoder = self.decoder.get_or_insert_with(|| self.scratch.decoder());
        decoder.feed(read, &mut self.used, &self.scratch.inflow_quota, now)
    }

    /// The server did not read for so long until now: the clocks of what comes in stood still.
    pub fn stood_still(&mut self, pause: Duration, now: Instant) {
        self.used.stood_still(pause, now);
        self.decoder.iter_mut().for_each(|decoder| decoder.stood_still(pause));
    }

    /// Sends the frames of `write`: at once, or later what the kernel does not take now.
    pub fn send(&mut self, cx: &mut Context<'_>, write: impl FnOnce(&mut Outgoing<'_>)) -> Result<(), SendError> {
        let scratch = self.scratch.clone();
        let buffers = &mut *scratch.buffers.borrow_mut();
        write(&mut Outgoing { buffers, scratch: &scratch });
        let sent = self.send_bytes(cx, &buffers.out);
        buffers.out.clear();
        sent
    }

    /// The same, and waits until the kernel has it.
    pub async fn send_and_flush(&mut self, write: impl FnOnce(&mut Outgoing<'_>)) -> Result<(), SendError> {
        let mut write = Some(write);
        poll_fn(|cx| Poll::Ready(write.take().map_or(Ok(()), |write| self.send(cx, write)))).await?;
        self.flush().await
    }

    fn send_bytes(&mut self, cx: &mut Context<'_>, mut bytes: &[u8]) -> Result<(), SendError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Some(unsent) = &mut self.unsent {
            unsent.bytes.extend_from_slice(bytes);
            return self.scratch.bounded(unsent);
        }
        let flushed = loop {
            if bytes.is_empty() {
                break Pin::new(&mut self.stream).poll_flush(cx);
            }
            match Pin::new(&mut self.stream).poll_write(cx, bytes) {
                Poll::Ready(Ok(0) | Err(_)) => return Err(SendError::Lost),
                Poll::Ready(Ok(count)) => bytes = &bytes[count..],
                Poll::Pending => break Poll::Pending,
            }
        };
        match flushed {
            Poll::Ready(Ok(())) => Ok(()),
            Poll::Ready(Err(_)) => Err(SendError::Lost),
            Poll::Pending => {
                let unsent = Box::new(Unsent { bytes: bytes.to_vec(), sent: 0, since: Instant::now() });
                self.scratch.bounded(self.unsent.insert(unsent))
            }
        }
    }

    /// Whether something waits for the peer to read.
    pub fn is_stuck(&self) -> bool {
        self.unsent.is_some()
    }

    /// By when what waits must have been sent.
    pub fn stuck_until(&self) -> Option<Instant> {
        self.unsent.as_ref().map(|unsent| unsent.since + self.scratch.write_timeout)
    }

    /// Sends what waits.
    pub fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError>> {
        let Some(unsent) = &mut self.unsent else { return Poll::Ready(Ok(())) };
        while unsent.sent < unsent.bytes.len() {
            match ready!(Pin::new(&mut self.stream).poll_write(cx, &unsent.bytes[unsent.sent..])) {
                Ok(0) | Err(_) => return Poll::Ready(Err(SendError::Lost)),
                Ok(count) => unsent.sent += count,
            }
        }
        let flushed = ready!(Pin::new(&mut self.stream).poll_flush(cx));
        self.unsent = None;
        Poll::Ready(flushed.map_err(|_| SendError::Lost))
    }

    async fn flush(&mut self) -> Result<(), SendError> {
        let Some(until) = self.stuck_until() else { return Ok(()) };
        let flushed = tokio::time::timeout_at(until.into(), poll_fn(|cx| self.poll_flush(cx))).await;
        flushed.unwrap_or(Err(SendError::TooSlow))
    }

    /// Answers the close of the peer, then ends the connection.
    pub async fn answer_close(mut self, code: u16) {
        self.scratch.metrics.closed(code);
        let mut answer = Vec::new();
        self.decoder.iter_mut().for_each(|decoder| decoder.answer_close(&mut answer));
        // Whatever goes wrong now, the connection ends.
        let _ = poll_fn(|cx| Poll::Ready(self.send_bytes(cx, &answer))).await;
        let _ = tokio::time::timeout(LINGER, poll_fn(|cx| self.poll_flush(cx))).await;
        let _ = self.stream.shutdown().await;
    }

    /// Closes with a code of ours, then discards input for a moment so that it arrives.
    pub async fn close(mut self, reason: CloseReason) {
        let (code, text) = reason.code_and_text();
        self.scratch.metrics.closed(code);
        // Whatever goes wrong now, the connection ends. A client that was too slow has this long to read what waits for
        // it.
        let said = poll_fn(|cx| Poll::Ready(self.send(cx, |out| out.close(code, text)))).await;
        if said.is_ok() {
            let _ = tokio::time::timeout(LINGER, poll_fn(|cx| self.poll_flush(cx))).await;
        }
        // Discarded, not counted: there is nothing left to refuse.
        let parting = async {
            let _ = self.stream.shutdown().await;
            let mut scratch = [0; 1024];
            while matches!(self.stream.read(&mut scratch).await, Ok(1..)) {}
        };
        let _ = tokio::time::timeout(LINGER, parting).await;
    }

    /// The connection is gone already.
    pub fn lose(self) {
        self.scratch.metrics.closed(close::LOST);
    }
}

impl ScratchBuffers {
    fn bounded(&self, unsent: &Unsent) -> Result<(), SendError> {
        let waits = unsent.bytes.len() - unsent.sent;
        if waits > self.unsent_max { Err(SendError::TooSlow) } else { Ok(()) }
    }
}

impl Outgoing<'_> {
    /// Whether another frame is to go with these.
    pub fn has_room(&self) -> bool {
        self.buffers.out.len() < WRITE_BYTES
    }

    /// A text message, written by `encode`.
    pub fn text(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        self.message(Data::Text, encode);
    }

    /// A binary message, written by `encode`.
    pub fn binary(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        self.message(Data::Binary, encode);
    }

    pub fn ping(&mut self) {
        self.scratch.flow.said(0);
        write_to_memory(Frame::ping(Vec::new()).format(&mut self.buffers.out));
    }

    fn close(&mut self, code: u16, reason: &'static str) {
        let frame = CloseFrame { code: CloseCode::from(code), reason: Utf8Bytes::from_static(reason) };
        write_to_memory(Frame::close(Some(frame)).format(&mut self.buffers.out));
    }

    fn message(&mut self, kind: Data, encode: impl FnOnce(&mut Vec<u8>)) {
        let Buffers { out, text, .. } = &mut *self.buffers;
        encode(text);
        let header = FrameHeader { opcode: OpCode::Data(kind), ..FrameHeader::default() };
        write_to_memory(header.format(text.len() as u64, out));
        out.extend_from_slice(text);
        self.scratch.flow.said(text.len());
        text.clear();
    }
}

impl From<LimitExceeded> for CloseReason {
    fn from(excess: LimitExceeded) -> Self {
        match excess {
            LimitExceeded::Bytes => CloseReason::TooMuch,
            LimitExceeded::Fragments => CloseReason::TooFast,
            LimitExceeded::Unfinished => CloseReason::Unfinished,
        }
    }
}

fn write_to_memory<E: std::fmt::Debug>(written: Result<(), E>) {
    written.expect("memory takes everything");
}
