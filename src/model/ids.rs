//! Ids of users, contents, sessions and connections.

use std::fmt;
use std::str::FromStr;

/// A user, `mid` on the wire. Comes from the token's `sub`, never from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u64);

/// One playback of one content on one device: a random number made by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One socket, or one HTTP request that names the socket it belongs to. Random, so that it says nothing of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A gateway among those that share a hot store: random for each process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GatewayId(pub u64);

/// A watched content: a business line (1 = video, 2 = live, 3 = article …) and the object in it.
///
/// The order is that of the list's cursor: by kind, then by oid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Content {
    pub kind: u16,
    pub oid: u64,
}

impl Content {
    pub const FIRST: Content = Content::first_of(0);
    pub const LAST: Content = Content::last_of(u16::MAX);

    pub const fn first_of(kind: u16) -> Self {
        Content { kind, oid: 0 }
    }

    pub const fn last_of(kind: u16) -> Self {
        Content { kind, oid: u64::MAX }
    }
}

/// A text names no content.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no content; write its kind and oid, as in \"1:100\"")]
pub struct NoContent(pub(crate) String);

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.oid)
    }
}

impl FromStr for Content {
    type Err = NoContent;

    fn from_str(text: &str) -> Result<Self, NoContent> {
        // The parsers of numbers would take a sign.
        let is_written = text.bytes().all(|byte| byte == b':' || byte.is_ascii_digit());
        let parts = text.split_once(':').filter(|_| is_written);
        let content = parts.and_then(|(kind, oid)| Some(Content { kind: kind.parse().ok()?, oid: oid.parse().ok()? }));
        content.ok_or_else(|| NoContent(text.to_owned()))
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ConnectionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(ConnectionId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_content_is_written_by_kind_and_oid() {
        for (written, content) in [
            ("1:100", Content { kind: 1, oid: 100 }),
            ("0:0", Content::FIRST),
            ("65535:18446744073709551615", Content::LAST),
        ] {
            assert_eq!(written.parse(), Ok(content));
            assert_eq!(content.to_string(), written);
        }
        for wrong in ["", "1", "1:", ":1", "65536:1", "1:-1", "+1:1", "1:18446744073709551616", "1:1:1", " 1:1"] {
            assert_eq!(wrong.parse::<Content>(), Err(NoContent(wrong.to_owned())));
        }
    }
}
