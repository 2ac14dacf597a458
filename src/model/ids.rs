//! Ids of users, contents, sessions and connections.

use std::fmt;

/// A user, `mid` on the wire. Comes from the token's `sub`, never from a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserId(pub u64);

/// One playback of one content on one device: a random number made by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(pub u64);

/// One socket, or one HTTP request that names the socket it belongs to. Random, so that it says nothing of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId(pub u64);

/// What is watched: a business line (1 = video, 2 = live, 3 = article …) and the object in it.
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

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl std::str::FromStr for ConnectionId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(ConnectionId)
    }
}
