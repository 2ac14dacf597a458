//! The frames of protocol v1, as values. The codecs beside this file encode them.

use crate::auth::User;
use model::beat::Beat;
use model::content_name::{ContentIds, ContentName, ContentTexts};
use model::ids::{ConnectionId, Content};
use model::page::{ListFilter, ListRequest, Position};
use model::push::Push;
use model::reading::Reading;
use model::record::Record;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rule::Reason;
use model::secret::Secret;
use model::user_name::UserName;

/// A frame of a client: one numbered operation.
#[derive(Debug, PartialEq)]
pub struct ClientFrame {
    /// At least 1. The connection checks that it grows.
    pub seq: u32,
    pub operation: Operation,
}

#[derive(Debug, PartialEq)]
pub enum Operation {
    Hello(Hello),
    Beats(Beats),
    Get {
        contents: Vec<Content>,
    },
    List(ListRequest),
    /// `at`: server-clock milliseconds, here and below.
    Delete {
        contents: Vec<Content>,
        /// As of beats.
        names: Vec<ContentName>,
        at: u64,
    },
    Clear {
        at: u64,
    },
    Recording {
        paused: bool,
        at: u64,
    },
    Token {
        token: Secret,
    },
}

#[derive(Debug, Default, PartialEq)]
pub struct Hello {
    pub token: Option<Secret>,
    pub device: Option<String>,
    pub client: Option<String>,
    /// How late steady beats may be acked, milliseconds.
    pub ack_delay: Option<u64>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Beats {
    /// The flag; a text that is no date counts as none.
    pub flag: Option<Day>,
    pub items: Vec<Beat>,
    /// The name of each beat's content; empty where contents are numbers.
    pub names: Vec<ContentName>,
}

/// The limits of one frame, and how it names contents.
#[derive(Clone, Copy, Debug)]
pub struct FrameLimits {
    pub ids: ContentIds,
    /// Beats in one frame.
    pub beats: usize,
    /// Contents in one `get` or `delete`.
    pub items: usize,
    /// Records in one page; more is clamped.
    pub list: usize,
}

/// A malformed frame. Nothing of it is applied.
#[derive(Debug, PartialEq)]
pub struct DecodeError {
    /// Absent where the frame has no readable one.
    pub seq: Option<u32>,
    pub code: ErrorCode,
    /// Begins with the path of the field.
    pub message: String,
    /// Whether it was meant as a `hello`: only that may be repaired before the welcome.
    pub hello: bool,
}

/// The same words end the `type` URI of HTTP problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    Invalid,
    UnknownOperation,
    Unauthorized,
    TooMany,
    Unavailable,
}

impl ErrorCode {
    pub fn word(self) -> &'static str {
        match self {
            ErrorCode::Invalid => "invalid",
            ErrorCode::UnknownOperation => "unknown_operation",
            ErrorCode::Unauthorized => "unauthorized",
            ErrorCode::TooMany => "too_many",
            ErrorCode::Unavailable => "unavailable",
        }
    }

    /// Whether the client may send the same again.
    pub fn retry(self) -> bool {
        self == ErrorCode::Unavailable
    }
}

/// What it takes to tell records.
#[derive(Clone, Copy)]
pub struct Telling<'a> {
    pub reading: &'a Reading,
    /// The names of the contents, where contents have names.
    pub texts: &'a ContentTexts,
}

/// A frame of the server.
#[derive(Clone, Debug)]
pub enum ServerFrame {
    Welcome(Box<Welcome>),
    Ack(Ack),
    Result {
        seq: u32,
        answer: Answer,
    },
    Error {
        seq: Option<u32>,
        code: ErrorCode,
        message: String,
    },
    Push(Push),
    /// A claim of the connection's user, with the name of the user where users have names.
    Reward(ClaimKey, Option<UserName>),
    Bye {
        reason: &'static str,
        reconnect_after_ms: u64,
    },
}

impl ServerFrame {
    /// The contents that it names.
    pub fn contents(&self) -> impl Iterator<Item = Content> + '_ {
        let (mut records, mut others) = (Vec::new(), &[][..]);
        match self {
            ServerFrame::Ack(ack) => {
                records.extend(ack.rejected.iter().filter_map(|rejected| rejected.record.as_ref()))
            }
            ServerFrame::Result { answer: Answer::Records { records: found, .. }, .. } => {
                records.extend(found.iter().flatten());
            }
            ServerFrame::Result { answer: Answer::Page { records: found, .. }, .. } => records.extend(found),
            ServerFrame::Push(Push::Record(record)) => records.push(record),
            ServerFrame::Push(Push::Deleted { contents, .. }) => others = &**contents,
            ServerFrame::Reward(claim, _) => others = claim.content.as_slice(),
            ServerFrame::Welcome(_)
            | ServerFrame::Result { .. }
            | ServerFrame::Error { .. }
            | ServerFrame::Push(_)
            | ServerFrame::Bye { .. } => {}
        }
        records.into_iter().map(|record| record.content).chain(others.iter().copied())
    }
}

#[derive(Clone, Debug)]
pub struct Welcome {
    pub user: User,
    pub connection: ConnectionId,
    /// Server-clock milliseconds.
    pub now: u64,
    /// The day of the rewards.
    pub today: Day,
    /// Today, when all is decided for the user.
    pub flag: Option<Day>,
    /// How often a playing client makes a beat, milliseconds.
    pub interval_ms: u64,
    pub paused: bool,
    /// When the token ends, milliseconds since 1970.
    pub expires: u64,
    pub limits: WelcomeLimits,
}

/// The limits a client is told, under the names of the wire.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct WelcomeLimits {
    /// Bytes of one message.
    pub frame: usize,
    pub beats: usize,
    pub items: usize,
    pub list: usize,
    /// Milliseconds.
    pub ack_delay: u64,
    /// The most connections of one user.
    pub connections: usize,
    pub frames_per_second: u32,
    pub burst: u32,
    pub bytes_per_second: u32,
    pub bytes_burst: u32,
    /// Milliseconds of silence after which the server pings.
    pub ping: u64,
    /// Milliseconds of silence after which it closes.
    pub idle: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ack {
    /// Every beats frame up to it is answered; 0 = none yet.
    pub seq: u32,
    /// Today, when all is decided for the user.
    pub flag: Option<Day>,
    pub rejected: Vec<Rejection>,
    /// The server's clock, when a beat was ahead of it.
    pub now: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Rejection {
    /// The frame of the beat; over HTTP there is none.
    pub seq: Option<u32>,
    /// Its index in the frame.
    pub index: u32,
    pub reason: Reason,
    pub record: Option<Record>,
}

#[derive(Clone, Debug)]
pub enum Answer {
    /// `delete`, `clear`, `hello`.
    Done,
    Records {
        records: Vec<Option<Record>>,
        /// The history store is away: an empty slot may be a record that could not be read.
        partial: bool,
    },
    Page {
        records: Vec<Record>,
        cursor: Option<String>,
        /// The history store is away: older records may be missing.
        partial: bool,
    },
    Recording {
        paused: bool,
    },
    /// A renewed token ends then, milliseconds since 1970.
    Token {
        expires: u64,
    },
}

/// The position and the filter of a list that are in the opaque cursor.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    pub position: Position,
    pub filter: ListFilter,
}
