//! The operations of a client, as they stand in a frame.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use super::fault::Fault;
use super::number::{EXACT_MAX, Id, Integer, Kind, Millis, Rate};
use super::query::list_request;
use super::shape::{List, Object};
use super::text::{Flag, StateWord, Text};
use crate::protocol::cursor;
use crate::protocol::frame::{Beats, FrameLimits, Hello, Operation};
use model::beat::Beat;
use model::ids::{Content, SessionId};
use model::page::{ListFilter, ListRequest};
use model::secret::Secret;

/// The names of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Hello,
    Beats,
    Get,
    List,
    Delete,
    Clear,
    Recording,
    Token,
}

/// An operation whose fields have the right types. Whether it keeps the limits is [`Shape::operation`]'s to say.
pub(super) enum Shape {
    Hello(HelloShape),
    Beats(BeatsShape),
    Get(GetShape),
    List(ListShape),
    Delete(DeleteShape),
    Clear(ClearShape),
    Recording(RecordingShape),
    Token(TokenShape),
}

/// Bytes.
pub(super) type Name = Text<64>;
type TokenText = Text<4096>;

pub(super) type BeatList = List<BeatShape, Beat>;
pub(super) type ContentList = List<ContentShape, Content>;

#[derive(Deserialize)]
pub(super) struct HelloShape {
    token: Option<TokenText>,
    device: Option<Name>,
    client: Option<Name>,
    ack_delay: Option<Millis>,
}

#[derive(Deserialize)]
pub(super) struct BeatsShape {
    flag: Option<Flag>,
    items: BeatList,
}

#[derive(Deserialize)]
pub(super) struct BeatShape {
    kind: Kind,
    oid: Id,
    pos: Millis,
    dur: Option<Millis>,
    state: StateWord,
    session: Id,
    watched: Option<Millis>,
    rate: Option<Rate>,
    at: Millis,
}

#[derive(Deserialize)]
pub(super) struct ContentShape {
    kind: Kind,
    oid: Id,
}

#[derive(Deserialize)]
pub(super) struct GetShape {
    items: ContentList,
}

#[derive(Deserialize)]
pub(super) struct ListShape {
    limit: Option<Integer<1, EXACT_MAX>>,
    cursor: Option<Text<{ cursor::TEXT_BYTES_MAX }>>,
    kinds: Option<Vec<Kind>>,
    finished: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct DeleteShape {
    items: ContentList,
    at: Millis,
}

#[derive(Deserialize)]
pub(super) struct ClearShape {
    at: Millis,
}

#[derive(Deserialize)]
pub(super) struct RecordingShape {
    paused: bool,
    at: Millis,
}

#[derive(Deserialize)]
pub(super) struct TokenShape {
    token: TokenText,
}

impl Verb {
    pub fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "hello" => Verb::Hello,
            "beats" => Verb::Beats,
            "get" => Verb::Get,
            "list" => Verb::List,
            "delete" => Verb::Delete,
            "clear" => Verb::Clear,
            "recording" => Verb::Recording,
            "token" => Verb::Token,
            _ => return None,
        })
    }

    pub fn word(self) -> &'static str {
        match self {
            Verb::Hello => "hello",
            Verb::Beats => "beats",
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Delete => "delete",
            Verb::Clear => "clear",
            Verb::Recording => "recording",
            Verb::Token => "token",
        }
    }
}

impl<'de> DeserializeSeed<'de> for Verb {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Ok(match self {
            Verb::Hello => Shape::Hello(Object::deserialize(deserializer)?.0),
            Verb::Beats => Shape::Beats(Object::deserialize(deserializer)?.0),
            Verb::Get => Shape::Get(Object::deserialize(deserializer)?.0),
            Verb::List => Shape::List(Object::deserialize(deserializer)?.0),
            Verb::Delete => Shape::Delete(Object::deserialize(deserializer)?.0),
            Verb::Clear => Shape::Clear(Object::deserialize(deserializer)?.0),
            Verb::Recording => Shape::Recording(Object::deserialize(deserializer)?.0),
            Verb::Token => Shape::Token(Object::deserialize(deserializer)?.0),
        })
    }
}

impl Shape {
    pub fn operation(self, limits: &FrameLimits) -> Result<Operation, Fault> {
        Ok(match self {
            Shape::Hello(hello) => Operation::Hello(hello.into()),
            Shape::Beats(BeatsShape { flag, items }) => {
                let items = at_most(items.items, limits.beats).map_err(|fault| fault.within("beats"))?;
                Operation::Beats(Beats { flag: flag.and_then(|flag| flag.0), items })
            }
            Shape::Get(GetShape { items }) => {
                let contents = at_most(items.items, limits.items).map_err(|fault| fault.within("get"))?;
                Operation::Get { contents }
            }
            Shape::List(list) => Operation::List(list.request(limits).map_err(|fault| fault.within("list"))?),
            Shape::Delete(DeleteShape { items, at }) => {
                let contents = at_most(items.items, limits.items).map_err(|fault| fault.within("delete"))?;
                Operation::Delete { contents, at: at.0 }
            }
            Shape::Clear(ClearShape { at }) => Operation::Clear { at: at.0 },
            Shape::Recording(RecordingShape { paused, at }) => Operation::Recording { paused, at: at.0 },
            Shape::Token(TokenShape { token }) => Operation::Token { token: Secret::new(token.0) },
        })
    }
}

/// `items`, as the field of that name.
pub(super) fn at_most<T>(items: Vec<T>, max: usize) -> Result<Vec<T>, Fault> {
    if items.len() > max { Err(Fault::too_many("items", max)) } else { Ok(items) }
}

impl ListShape {
    fn request(self, limits: &FrameLimits) -> Result<ListRequest, Fault> {
        let kinds = self.kinds.iter().flatten().map(|kind| kind.get()).collect();
        let filter = ListFilter { kinds, finished: self.finished };
        let cursor = self.cursor.map(|cursor| cursor.0);
        list_request(self.limit.map(|limit| limit.0), filter, cursor.as_deref(), limits)
    }
}

impl From<HelloShape> for Hello {
    fn from(shape: HelloShape) -> Self {
        Hello {
            token: shape.token.map(|token| Secret::new(token.0)),
            device: shape.device.map(|device| device.0),
            client: shape.client.map(|client| client.0),
            ack_delay: shape.ack_delay.map(|delay| delay.0),
        }
    }
}

impl From<ContentShape> for Content {
    fn from(shape: ContentShape) -> Self {
        Content { kind: shape.kind.get(), oid: shape.oid.0 }
    }
}

impl From<BeatShape> for Beat {
    fn from(shape: BeatShape) -> Self {
        Beat {
            content: Content { kind: shape.kind.get(), oid: shape.oid.0 },
            pos: shape.pos.0,
            dur: shape.dur.unwrap_or_default().0,
            state: shape.state.0,
            session: SessionId(shape.session.0),
            watched: shape.watched.map(|watched| watched.0),
            rate: shape.rate.unwrap_or_default().0,
            at: shape.at.0,
        }
    }
}
