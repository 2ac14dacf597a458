//! Every close code, in one table. The number tells the client whether to come back.

use crate::auth::TokenError;
use crate::protocol::frame::ServerFrame;
use domain::devices::inbox::CloseRequest;

/// The range of the random delay before a client reconnects after a `bye`, so that not all reconnect at once.
const RECONNECT_AFTER_MS: std::ops::RangeInclusive<u64> = 200..=10_000;

/// Every code that a gateway or a correct client sends, with a word for logs.
pub const CODES: [(u16, &str); 19] = [
    (1000, "normal"),
    (1001, "going_away"),
    (1002, "protocol_error"),
    (1003, "unsupported_data"),
    (1005, "no_code"),
    (1006, "connection_lost"),
    (1007, "invalid_utf8"),
    (1009, "message_too_big"),
    (1011, "internal_error"),
    (1012, "restart"),
    (1013, "overloaded"),
    (4000, "invalid_frames"),
    (4001, "unauthorized"),
    (4002, "token_expired"),
    (4003, "kicked"),
    (4004, "replaced"),
    (4008, "too_fast"),
    (4009, "too_slow"),
    (4010, "idle"),
];

/// No close frame came: the connection is gone.
pub const LOST: u16 = 1006;

pub fn word(code: u16) -> &'static str {
    CODES.iter().find(|(known, _)| *known == code).map_or("other", |(_, word)| word)
}

/// Why the server closes a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloseReason {
    /// A violation of the WebSocket protocol.
    Protocol,
    /// A binary message on a JSON socket.
    MessageType,
    Utf8,
    TooBig,
    /// The server drains; `bye` was sent before.
    Drain,
    /// The client has used up all numbers; `bye` was sent before.
    OutOfNumbers,
    /// The store did not answer in time.
    Overloaded,
    /// The user's stored state cannot be read.
    Unreadable,
    /// Three invalid frames in a row.
    Invalid,
    /// A `hello` without a token.
    NoToken,
    NoHello,
    /// Another frame than a `hello` before the welcome.
    NotHello,
    Unauthorized(TokenError),
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
    /// The code, and the reason of the close frame.
    pub fn code_and_text(self) -> (u16, &'static str) {
        match self {
            CloseReason::Protocol => (1002, "protocol error"),
            CloseReason::MessageType => (1003, "text messages only"),
            CloseReason::Utf8 => (1007, "not UTF-8"),
            CloseReason::TooBig => (1009, "message too big"),
            CloseReason::Drain => (1012, "gateway shutting down, reconnect"),
            CloseReason::OutOfNumbers => (1012, "seq numbers used up, reconnect"),
            CloseReason::Overloaded => (1013, "overloaded"),
            CloseReason::Unreadable => (1013, "history cannot be read, try again later"),
            CloseReason::Invalid => (4000, "three invalid frames in a row"),
            CloseReason::NoToken => (4001, "missing token"),
            CloseReason::NoHello => (4001, "no hello in time"),
            CloseReason::NotHello => (4001, "another frame before the welcome"),
            CloseReason::Unauthorized(error) => (4001, error.cause()),
            CloseReason::Expired => (4002, "expired"),
            CloseReason::Kicked => (4003, "kicked"),
            CloseReason::Replaced => (4004, "too many connections of this user"),
            CloseReason::TooFast => (4008, "too many frames"),
            CloseReason::TooMuch => (4008, "too many bytes"),
            CloseReason::TooSlow => (4009, "reading too slowly"),
            CloseReason::Idle => (4010, "no frame or pong for too long"),
            CloseReason::Unfinished => (4010, "message not completed in time"),
        }
    }

    /// The `bye` that goes before it, if one does. `spread`: where in [`RECONNECT_AFTER_MS`] this client is, 0 to 1;
    /// random.
    pub fn bye(self, spread: f64) -> Option<ServerFrame> {
        let reason = match self {
            CloseReason::Drain => "drain",
            CloseReason::OutOfNumbers => "seq",
            _ => return None,
        };
        let (first, last) = (*RECONNECT_AFTER_MS.start(), *RECONNECT_AFTER_MS.end());
        Some(ServerFrame::Bye { reason, reconnect_after_ms: first + ((last - first) as f64 * spread) as u64 })
    }
}

impl From<CloseRequest> for CloseReason {
    fn from(close_request: CloseRequest) -> Self {
        match close_request {
            CloseRequest::Kicked => CloseReason::Kicked,
            CloseRequest::Replaced => CloseReason::Replaced,
            CloseRequest::TooSlow => CloseReason::TooSlow,
            CloseRequest::Unreadable => CloseReason::Unreadable,
        }
    }
}

impl From<TokenError> for CloseReason {
    fn from(error: TokenError) -> Self {
        match error {
            TokenError::Expired => CloseReason::Expired,
            error => CloseReason::Unauthorized(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_server_has_a_word() {
        for reason in [
            CloseReason::Protocol,
            CloseReason::MessageType,
            CloseReason::Utf8,
            CloseReason::TooBig,
            CloseReason::Drain,
            CloseReason::OutOfNumbers,
            CloseReason::Overloaded,
            CloseReason::Unreadable,
            CloseReason::Invalid,
            CloseReason::NoToken,
            CloseReason::NoHello,
            CloseReason::NotHello,
            // The longest.
            CloseReason::Unauthorized(TokenError::LifeTooLong),
            CloseReason::Expired,
            CloseReason::Kicked,
            CloseReason::Replaced,
            CloseReason::TooFast,
            CloseReason::TooMuch,
            CloseReason::TooSlow,
            CloseReason::Idle,
            CloseReason::Unfinished,
        ] {
            let (code, text) = reason.code_and_text();
            assert_ne!(word(code), "other", "{reason:?}");
            assert!(text.len() <= 123, "RFC 6455, section 5.5: {reason:?}");
        }
        assert_eq!((word(4999), word(1006)), ("other", "connection_lost"));
    }
}
