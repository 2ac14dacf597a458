//! What comes in of a client before it is a message: bytes, fragments, and messages that do not end.
//!
//! tungstenite hands over whole messages only. It bounds their bytes, but not in how many fragments they come (an empty
//! one costs nothing of the bound) and not how long they take; so both are judged here, as the bytes are read.

use std::io::{self, Cursor};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::OpCode;

use super::limits::{LimitsConfig, SocketConfig};
use super::rate::Rate;

/// First two bytes, length, mask.
const HEAD_BYTES_MAX: usize = 14;

/// Why no more is read of a client. It comes out of the stream as the source of an [`io::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Excess {
    #[error("too many bytes a second")]
    Bytes,
    #[error("too many fragments a second")]
    Fragments,
    #[error("a message was not finished in time")]
    Unfinished,
}

impl Excess {
    /// The excess that this error carries, if it does.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

/// A stream of frames whose reading side is counted.
pub struct Inflow<S> {
    stream: S,
    tally: Tally,
}

struct Tally {
    walk: Walk,
    bytes: Rate,
    fragments: Rate,
    /// Since when a message is under way.
    begun: Option<Instant>,
    message_timeout: Duration,
}

impl<S> Inflow<S> {
    /// `read` is what was already read of `stream`.
    pub fn new(stream: S, read: &[u8], limits: &LimitsConfig, socket: &SocketConfig) -> Self {
        let now = Instant::now();
        let mut tally = Tally {
            walk: Walk::default(),
            bytes: Rate::new(limits.bytes_per_second, limits.bytes_burst, now),
            fragments: Rate::new(limits.frames_per_second, limits.burst, now),
            begun: None,
            message_timeout: socket.message_timeout,
        };
        // It was bounded by the buffer it was read into.
        let _ = tally.count(read, now);
        Inflow { stream, tally }
    }

    /// The stream, uncounted.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The server did not read for so long; what gathered meanwhile is not the client's haste, nor its delay.
    pub fn stood_still(&mut self, pause: Duration) {
        self.tally.bytes.stood_still(pause);
        self.tally.fragments.stood_still(pause);
        self.tally.begun = self.tally.begun.map(|begun| begun + pause);
    }
}

impl Tally {
    fn count(&mut self, read: &[u8], now: Instant) -> Result<(), Excess> {
        if read.is_empty() {
            return Ok(());
        }
        let passed = self.walk.over(read);
        if passed.messages > 0 || !self.walk.is_inside() {
            self.begun = None;
        }
        if self.walk.is_inside() {
            let begun = *self.begun.get_or_insert(now);
            if now.saturating_duration_since(begun) > self.message_timeout {
                return Err(Excess::Unfinished);
            }
        }
        if passed.fragments > 0 && !self.fragments.allow(passed.fragments, now) {
            return Err(Excess::Fragments);
        }
        let bytes = u32::try_from(read.len()).unwrap_or(u32::MAX);
        if self.bytes.allow(bytes, now) { Ok(()) } else { Err(Excess::Bytes) }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Inflow<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.stream).poll_read(cx, buffer))?;
        let counted = this.tally.count(&buffer.filled()[before..], Instant::now());
        Poll::Ready(counted.map_err(io::Error::other))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Inflow<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// Follows the frames of a stream by their heads; payloads are passed over.
#[derive(Debug, Default)]
struct Walk {
    /// As much of a head as has come.
    head: [u8; HEAD_BYTES_MAX],
    held: usize,
    /// What is still to come of the current frame.
    payload: u64,
    /// Whether the current frame ends a message.
    last: bool,
    /// Whether a message has begun that its last frame has not ended.
    open: bool,
}

/// What went by.
#[derive(Debug, Default, PartialEq, Eq)]
struct Passed {
    /// Frames that do not end their message.
    fragments: u32,
    /// Messages that ended; control frames are none.
    messages: u32,
}

impl Walk {
    /// Whether a frame or a message is not whole yet.
    fn is_inside(&self) -> bool {
        self.open || self.payload > 0 || self.held > 0
    }

    fn over(&mut self, mut bytes: &[u8]) -> Passed {
        let mut passed = Passed::default();
        while let Some((first, rest)) = bytes.split_first() {
            if self.payload > 0 {
                let skipped = usize::try_from(self.payload).unwrap_or(usize::MAX).min(bytes.len());
                self.payload -= skipped as u64;
                bytes = &bytes[skipped..];
            } else {
                self.head[self.held] = *first;
                self.held += 1;
                bytes = rest;
                if !self.enter_frame(&mut passed) {
                    continue;
                }
            }
            if self.payload == 0 && self.last {
                self.last = false;
                passed.messages += 1;
            }
        }
        passed
    }

    /// Whether the head is whole, and the walk past it.
    fn enter_frame(&mut self, passed: &mut Passed) -> bool {
        let (header, length) = match FrameHeader::parse(&mut Cursor::new(&self.head[..self.held])) {
            Ok(Some(parsed)) => parsed,
            Ok(None) if self.held < HEAD_BYTES_MAX => return false,
            // No frame; tungstenite finds that, too, and the socket closes.
            Ok(None) | Err(_) => {
                self.held = 0;
                return false;
            }
        };
        (self.held, self.payload) = (0, length);
        if let OpCode::Data(_) = header.opcode {
            self.open = !header.is_final;
            self.last = header.is_final;
            passed.fragments += u32::from(!header.is_final);
        }
        true
    }
}

#[cfg(test)]
#[path = "inflow_tests.rs"]
mod tests;
