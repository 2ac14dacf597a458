//! The operations of a client, as they stand in a frame.

use serde::Deserialize;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer};

use super::fault::Fault;
use super::number::{EXACT_MAX, Id, Integer, Kind, Millis, Rate};
use super::query::list_request;
use super::shape::{List, Object};
use super::text::{ContentText, Flag, StateWord, Text};
use crate::protocol::cursor;
use crate::protocol::frame::{Beats, FrameLimits, Hello, Operation};
use model::beat::Beat;
use model::content_name::{ContentIds, ContentName};
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
    Beats(Option<Flag>, Items<Beat>),
    Get(Items<Content>),
    List(ListShape),
    Delete(Items<Content>, Millis),
    Clear(ClearShape),
    Recording(RecordingShape),
    Token(TokenShape),
}

/// Bytes.
pub(super) type Name = Text<64>;
type TokenText = Text<4096>;

/// What the items of an operation are about, and the names of their contents where contents have names: one for each.
#[derive(Debug)]
pub(super) struct Items<T> {
    pub items: Vec<T>,
    pub names: Vec<ContentName>,
}

/// How the items of an operation name their contents. A frame is read in one pass, so that has to be known before.
pub(super) trait Naming {
    type Beats: DeserializeOwned + Into<Items<Beat>>;
    type Contents: DeserializeOwned + Into<Items<Content>>;
}

/// By numbers.
pub(super) struct Numbers;

/// By texts.
pub(super) struct Names;

impl Naming for Numbers {
    type Beats = List<BeatShape<Id>, Beat>;
    type Contents = List<ContentShape<Id>, Content>;
}

impl Naming for Names {
    type Beats = List<BeatShape<ContentText>, (Beat, ContentName)>;
    type Contents = List<ContentShape<ContentText>, (Content, ContentName)>;
}

/// What decodes the value of an operation.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub verb: Verb,
    pub ids: ContentIds,
}

#[derive(Deserialize)]
pub(super) struct HelloShape {
    token: Option<TokenText>,
    device: Option<Name>,
    client: Option<Name>,
    ack_delay: Option<Millis>,
}

#[derive(Deserialize)]
pub(super) struct BeatsShape<I> {
    flag: Option<Flag>,
    items: I,
}

#[derive(Deserialize)]
pub(super) struct BeatShape<O> {
    kind: Kind,
    oid: O,
    pos: Millis,
    dur: Option<Millis>,
    state: StateWord,
    session: Id,
    watched: Option<Millis>,
    rate: Option<Rate>,
    at: Millis,
}

#[derive(Deserialize)]
pub(super) struct ContentShape<O> {
    kind: Kind,
    oid: O,
}

#[derive(Deserialize)]
pub(super) struct GetShape<I> {
    items: I,
}

#[derive(Deserialize)]
pub(super) struct ListShape {
    limit: Option<Integer<1, EXACT_MAX>>,
    cursor: Option<Text<{ cursor::TEXT_BYTES_MAX }>>,
    kinds: Option<Vec<Kind>>,
    finished: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct DeleteShape<I> {
    items: I,
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

    fn shape<'de, N: Naming, D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        Ok(match self {
            Verb::Hello => Shape::Hello(Object::deserialize(deserializer)?.0),
            Verb::Beats => {
                let Object(BeatsShape::<N::Beats> { flag, items }) = Object::deserialize(deserializer)?;
                Shape::Beats(flag, items.into())
            }
            Verb::Get => {
                let Object(GetShape::<N::Contents> { items }) = Object::deserialize(deserializer)?;
                Shape::Get(items.into())
            }
            Verb::List => Shape::List(Object::deserialize(deserializer)?.0),
            Verb::Delete => {
                let Object(DeleteShape::<N::Contents> { items, at }) = Object::deserialize(deserializer)?;
                Shape::Delete(items.into(), at)
            }
            Verb::Clear => Shape::Clear(Object::deserialize(deserializer)?.0),
            Verb::Recording => Shape::Recording(Object::deserialize(deserializer)?.0),
            Verb::Token => Shape::Token(Object::deserialize(deserializer)?.0),
        })
    }
}

impl<'de> DeserializeSeed<'de> for Wanted {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        match self.ids {
            ContentIds::Number => self.verb.shape::<Numbers, D>(deserializer),
            ContentIds::Any => self.verb.shape::<Names, D>(deserializer),
        }
    }
}

impl Shape {
    pub fn operation(self, limits: &FrameLimits) -> Result<Operation, Fault> {
        Ok(match self {
            Shape::Hello(hello) => Operation::Hello(hello.into()),
            Shape::Beats(flag, items) => {
                let Items { items, names } = at_most(items, limits.beats).map_err(|fault| fault.within("beats"))?;
                Operation::Beats(Beats { flag: flag.and_then(|flag| flag.0), items, names })
            }
            Shape::Get(items) => {
                let asked = at_most(items, limits.items).map_err(|fault| fault.within("get"))?;
                Operation::Get { contents: asked.items }
            }
            Shape::List(list) => Operation::List(list.request(limits).map_err(|fault| fault.within("list"))?),
            Shape::Delete(items, at) => {
                let Items { items, names } = at_most(items, limits.items).map_err(|fault| fault.within("delete"))?;
                Operation::Delete { contents: items, names, at: at.0 }
            }
            Shape::Clear(ClearShape { at }) => Operation::Clear { at: at.0 },
            Shape::Recording(RecordingShape { paused, at }) => Operation::Recording { paused, at: at.0 },
            Shape::Token(TokenShape { token }) => Operation::Token { token: Secret::new(token.0) },
        })
    }
}

/// `items`, as the field of that name.
pub(super) fn at_most<T>(items: Items<T>, max: usize) -> Result<Items<T>, Fault> {
    if items.items.len() > max { Err(Fault::too_many("items", max)) } else { Ok(items) }
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

impl<W, T> From<List<W, T>> for Items<T> {
    fn from(list: List<W, T>) -> Self {
        Items { items: list.items, names: Vec::new() }
    }
}

impl<W, T> From<List<W, (T, ContentName)>> for Items<T> {
    fn from(list: List<W, (T, ContentName)>) -> Self {
        let (items, names) = list.items.into_iter().unzip();
        Items { items, names }
    }
}

impl From<ContentShape<Id>> for Content {
    fn from(shape: ContentShape<Id>) -> Self {
        Content { kind: shape.kind.get(), oid: shape.oid.0 }
    }
}

impl From<ContentShape<ContentText>> for (Content, ContentName) {
    fn from(ContentShape { kind, oid: ContentText(name) }: ContentShape<ContentText>) -> Self {
        (Content { kind: kind.get(), oid: name.oid() }, name)
    }
}

impl From<BeatShape<Id>> for Beat {
    fn from(shape: BeatShape<Id>) -> Self {
        let oid = shape.oid.0;
        shape.beat(oid)
    }
}

impl From<BeatShape<ContentText>> for (Beat, ContentName) {
    fn from(shape: BeatShape<ContentText>) -> Self {
        let name = shape.oid.0.clone();
        (shape.beat(name.oid()), name)
    }
}

impl<O> BeatShape<O> {
    fn beat(self, oid: u64) -> Beat {
        Beat {
            content: Content { kind: self.kind.get(), oid },
            pos: self.pos.0,
            dur: self.dur.unwrap_or_default().0,
            state: self.state.0,
            session: SessionId(self.session.0),
            watched: self.watched.map(|watched| watched.0),
            rate: self.rate.unwrap_or_default().0,
            at: self.at.0,
        }
    }
}
