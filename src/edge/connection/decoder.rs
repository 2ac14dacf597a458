//! Bytes to messages.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use tokio_tungstenite::tungstenite::protocol::{Message, Role, WebSocketConfig, WebSocketContext};
use tokio_tungstenite::tungstenite::{Bytes, Error, Utf8Bytes};

use super::close::CloseReason;
use super::inflow::{Inflow, InflowQuota, LimitExceeded, Used};

/// Input of a socket.
#[derive(Debug)]
pub enum Received {
    Text(Utf8Bytes),
    Binary(Bytes),
    /// A ping or a pong; pings are answered already.
    Alive,
    /// The peer closes, with this code (1005 = none). [Answer](Decoder::answer_close) the close after all frames that
    /// were to be sent before.
    Closed(u16),
    /// The connection is lost, without a close.
    Lost,
    /// The peer has broken the protocol.
    Wrong(CloseReason),
}

/// Decodes the bytes of one socket into messages. At rest it has no state of that socket and may serve another.
///
/// It keeps at most one read of unprocessed bytes, and the beginning of one message.
pub struct Decoder {
    context: WebSocketContext,
    inflow: Inflow,
    /// The bytes read; the context has taken those up to `taken`.
    read: Vec<u8>,
    taken: usize,
    /// The last look found no whole message.
    exhausted: bool,
}

impl Decoder {
    pub fn new(config: WebSocketConfig) -> Self {
        Decoder {
            context: WebSocketContext::new(Role::Server, Some(config)),
            inflow: Inflow::default(),
            read: Vec::new(),
            taken: 0,
            exhausted: true,
        }
    }

    /// Whether there is nothing of its socket left in it.
    pub fn is_at_rest(&self) -> bool {
        self.exhausted && self.inflow.is_at_rest() && self.context.can_read()
    }

    /// Takes in what was read of the socket.
    pub fn feed(
        &mut self,
        read: &[u8],
        used: &mut Used,
        allowed: &InflowQuota,
        now: Instant,
    ) -> Result<(), LimitExceeded> {
        self.inflow.count(read, used, allowed, now)?;
        self.read.drain(..self.taken);
        self.taken = 0;
        self.read.extend_from_slice(read);
        self.exhausted = false;
        Ok(())
    }

    /// The next message, if one is whole. What has to be said in answer to it is appended to `answers`.
    pub fn next(&mut self, answers: &mut Vec<u8>) -> Option<Received> {
        let mut memory = Memory { read: &self.read, taken: &mut self.taken, answers };
        let heard = match self.context.read(&mut memory) {
            Err(Error::Io(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                self.exhausted = true;
                return None;
            }
            Ok(message) => received(message),
            Err(Error::Capacity(_)) => Received::Wrong(CloseReason::TooBig),
            Err(Error::Utf8(_)) => Received::Wrong(CloseReason::Utf8),
            Err(Error::Protocol(_)) => Received::Wrong(CloseReason::Protocol),
            Err(_) => Received::Lost,
        };
        // A pong waits for the next look.
        if matches!(heard, Received::Alive) {
            self.flush(answers);
        }
        Some(heard)
    }

    /// Appends the answer to the peer's close, which waits for it.
    pub fn answer_close(&mut self, answers: &mut Vec<u8>) {
        self.flush(answers);
    }

    fn flush(&mut self, answers: &mut Vec<u8>) {
        let mut memory = Memory { read: &[], taken: &mut 0, answers };
        // Memory takes everything; that the connection ends with a close is no failure.
        let _ = self.context.flush(&mut memory);
    }

    /// The server did not read for so long.
    pub fn stood_still(&mut self, pause: Duration) {
        self.inflow.stood_still(pause);
    }
}

impl Received {
    /// Bytes of a message of the client's own.
    pub fn bytes(&self) -> usize {
        match self {
            Received::Text(text) => text.len(),
            Received::Binary(bytes) => bytes.len(),
            Received::Alive | Received::Closed(_) | Received::Lost | Received::Wrong(_) => 0,
        }
    }
}

fn received(message: Message) -> Received {
    match message {
        Message::Text(text) => Received::Text(text),
        Message::Binary(bytes) => Received::Binary(bytes),
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => Received::Alive,
        Message::Close(frame) => Received::Closed(frame.map_or(1005, |frame| frame.code.into())),
    }
}

/// A stream in memory.
struct Memory<'a> {
    read: &'a [u8],
    taken: &'a mut usize,
    answers: &'a mut Vec<u8>,
}

impl Read for Memory<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = &self.read[*self.taken..];
        if left.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = left.len().min(buffer.len());
        buffer[..count].copy_from_slice(&left[..count]);
        *self.taken += count;
        Ok(count)
    }
}

impl Write for Memory<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.answers.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
