//! Limits on the input of a client before it is a message: bytes, fragments, and unfinished messages.
//!
//! tungstenite returns whole messages only. It bounds their bytes, but neither the number of their fragments (an empty
//! one does not count) nor the time they take. Both are checked here, as the bytes are read.

use std::io::Cursor;
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::protocol::frame::FrameHeader;
use tokio_tungstenite::tungstenite::protocol::frame::coding::OpCode;

use crate::limits::config::{LimitsConfig, SocketConfig};
use crate::limits::quota::{Quota, Rate};

/// First two bytes, length, mask.
const HEAD_BYTES_MAX: usize = 14;

/// The limit that a client has exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitExceeded {
    /// Too many bytes a second.
    Bytes,
    /// Too many fragments a second.
    Fragments,
    /// A message was not finished in time.
    Unfinished,
}

/// The limits of input; the same for all clients.
#[derive(Clone, Copy, Debug)]
pub struct InflowQuota {
    bytes: Quota,
    fragments: Quota,
    message_timeout: Duration,
}

/// One client's use of its [`InflowQuota`].
#[derive(Debug)]
pub struct Used {
    bytes: Rate,
    fragments: Rate,
}

/// The state of the stream of one client: at rest between two messages, or within one.
#[derive(Debug, Default)]
pub struct Inflow {
    walk: Walk,
    /// Since when a message is under way.
    begun: Option<Instant>,
}

impl InflowQuota {
    pub fn new(limits: &LimitsConfig, socket: &SocketConfig) -> Self {
        InflowQuota {
            bytes: Quota::new(limits.bytes_per_second, limits.bytes_burst),
            fragments: Quota::new(limits.frames_per_second, limits.burst),
            message_timeout: socket.message_timeout,
        }
    }
}

impl Used {
    pub fn new(now: Instant) -> Self {
        Used { bytes: Rate::new(now), fragments: Rate::new(now) }
    }

    /// The server did not read during this pause. Bytes that gathered meanwhile were not sent too fast.
    pub fn stood_still(&mut self, pause: Duration, now: Instant) {
        self.bytes.stood_still(pause, now);
        self.fragments.stood_still(pause, now);
    }
}

impl Inflow {
    /// Whether nothing has begun that has not ended.
    pub fn is_at_rest(&self) -> bool {
        !self.walk.is_inside()
    }

    /// Counts what was read.
    pub fn count(
        &mut self,
        read: &[u8],
        used: &mut Used,
        allowed: &InflowQuota,
        now: Instant,
    ) -> Result<(), LimitExceeded> {
        if read.is_empty() {
            return Ok(());
        }
        let passed = self.walk.over(read);
        if passed.messages > 0 || !self.walk.is_inside() {
            self.begun = None;
        }
        if self.walk.is_inside() {
            let begun = *self.begun.get_or_insert(now);
            if now.saturating_duration_since(begun) > allowed.message_timeout {
                return Err(LimitExceeded::Unfinished);
            }
        }
        if passed.fragments > 0 && !used.fragments.allow(passed.fragments, &allowed.fragments, now) {
            return Err(LimitExceeded::Fragments);
        }
        let bytes = u32::try_from(read.len()).unwrap_or(u32::MAX);
        if used.bytes.allow(bytes, &allowed.bytes, now) { Ok(()) } else { Err(LimitExceeded::Bytes) }
    }

    /// The server did not read for so long; that is not the client's delay.
    pub fn stood_still(&mut self, pause: Duration) {
        self.begun = self.begun.map(|begun| begun + pause);
    }
}

/// Follows the frames of a stream by their heads; payloads are passed over.
#[derive(Debug, Default)]
struct Walk {
    /// As much of a head as has come.
    head: [u8; HEAD_BYTES_MAX],
    held: usize,
    /// Bytes of the current frame that are still to come.
    payload: u64,
    /// Whether the current frame ends a message.
    last: bool,
    /// Whether a message has begun that its last frame has not ended.
    open: bool,
}

/// The frames and messages that were passed.
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
