//! Every close code, in one table. The number tells the client whether to come back.

use crate::domain::devices::mailbox::Farewell;
use crate::edge::protocol::frame::ServerFrame;

/// Somewhere between these a client waits before it comes back after a `bye`, so that not all come at once.
const RECONNECT_AFTER_MS: std::ops::RangeInclusive<u64> = 200..=10_000;

/// Why the server closes a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A violation of the WebSocket protocol.
    Protocol,
    /// A binary message on a JSON socket.
    MessageType,
    Utf8,
    TooBig,
    /// The server goes; `bye` came before.
    Drain,
    /// The client has used up all numbers; `bye` came before.
    OutOfNumbers,
    /// The store did not answer in time.
    Overloaded,
    /// Three invalid frames in a row.
    Invalid,
    Unauthorized,
    Expired,
    Kicked,
    Replaced,
    TooFast,
    /// More bytes a second than it may send.
    TooMuch,
    TooSlow,
    Idle,
    /// A message that was begun was not finished.
    Unfinished,
}

impl CloseReason {
    /// The code, and a text for whoever reads a log.
    pub fn code_and_text(self) -> (u16, &'static str) {
        match self {
            CloseReason::Protocol => (1002, "protocol error"),
            CloseReason::MessageType => (1003, "this socket speaks text"),
            CloseReason::Utf8 => (1007, "not UTF-8"),
            CloseReason::TooBig => (1009, "message too big"),
            CloseReason::Drain => (1012, "going away, come back"),
            CloseReason::OutOfNumbers => (1012, "out of numbers, come back"),
            CloseReason::Overloaded => (1013, "overloaded"),
            CloseReason::Invalid => (4000, "three invalid frames in a row"),
            CloseReason::Unauthorized => (4001, "no or bad token"),
            CloseReason::Expired => (4002, "token expired"),
            CloseReason::Kicked => (4003, "kicked"),
            CloseReason::Replaced => (4004, "too many connections of this user"),
            CloseReason::TooFast => (4008, "too many frames"),
            CloseReason::TooMuch => (4008, "too many bytes"),
            CloseReason::TooSlow => (4009, "too slow in reading"),
            CloseReason::Idle => (4010, "silent for too long"),
            CloseReason::Unfinished => (4010, "a message took too long"),
        }
    }

    /// The `bye` that goes before it, if one does.
    pub fn bye(self) -> Option<ServerFrame> {
        let reason = match self {
            CloseReason::Drain => "drain",
            CloseReason::OutOfNumbers => "seq",
            _ => return None,
        };
        Some(ServerFrame::Bye { reason, reconnect_after_ms: rand::random_range(RECONNECT_AFTER_MS) })
    }
}

impl From<Farewell> for CloseReason {
    fn from(farewell: Farewell) -> Self {
        match farewell {
            Farewell::Kicked => CloseReason::Kicked,
            Farewell::Replaced => CloseReason::Replaced,
            Farewell::TooSlow => CloseReason::TooSlow,
        }
    }
}
