//! The outermost object of a client frame: its `seq` and its one operation.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fault::{Fault, tracked};
use super::number::Seq;
use super::operation::{Shape, Verb, Wanted};
use super::shape::OrNull;
use model::content_name::ContentIds;

/// A frame without an error so far. A failed read has no reason: the [`Outline`] finds it.
pub(super) struct Envelope {
    pub seq: u32,
    pub shape: Shape,
}

/// The parts of any frame that is an object, before its values are decoded.
#[derive(Default)]
pub(super) struct Outline<'a> {
    seq: Option<&'a RawValue>,
    seq_again: bool,
    operation: Option<(Verb, &'a RawValue)>,
    another: Option<Verb>,
    unknown: bool,
    /// Whether the frame has a `hello`, alone or beside other operations.
    pub hello: bool,
}

enum Name {
    Seq,
    Operation(Verb),
    Unknown,
}

impl Outline<'_> {
    pub fn seq(&self) -> Result<u32, Fault> {
        let Some(seq) = self.seq else {
            return Err(Fault::invalid("seq", "is missing"));
        };
        if self.seq_again {
            return Err(Fault::invalid("seq", "appears twice"));
        }
        let seq = tracked(std::marker::PhantomData::<Seq>, seq.get());
        seq.map(Seq::get).map_err(|fault| fault.within("seq"))
    }

    pub fn shape(&self, ids: ContentIds) -> Result<Shape, Fault> {
        let Some((verb, json)) = self.operation else {
            return Err(match self.unknown {
                true => Fault::unknown_operation("frame"),
                false => Fault::invalid("frame", "has no operation"),
            });
        };
        match self.another {
            Some(another) if another == verb => Err(Fault::invalid(verb.word(), "appears twice")),
            Some(another) => Err(Fault::invalid(another.word(), "must be the only operation of its frame")),
            None => tracked(Wanted { verb, ids }, json.get()).map_err(|fault| fault.within(verb.word())),
        }
    }
}

impl Envelope {
    pub fn read(text: &str, ids: ContentIds) -> serde_json::Result<Self> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let envelope = deserializer.deserialize_map(EnvelopeVisitor(ids))?;
        deserializer.end()?;
        Ok(envelope)
    }
}

struct EnvelopeVisitor(ContentIds);

impl<'de> Visitor<'de> for EnvelopeVisitor {
    type Value = Envelope;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Envelope, A::Error> {
        let mut seq = None;
        let mut shape = None;
        while let Some(name) = map.next_key()? {
            match name {
                Name::Seq if seq.is_none() => seq = map.next_value::<Option<Seq>>()?,
                Name::Operation(verb) if shape.is_none() => {
                    shape = map.next_value_seed(OrNull(Wanted { verb, ids: self.0 }))?
                }
                Name::Unknown => drop(map.next_value::<IgnoredAny>()?),
                Name::Seq | Name::Operation(_) => return Err(A::Error::custom("twice")),
            }
        }
        match (seq, shape) {
            (Some(seq), Some(shape)) => Ok(Envelope { seq: seq.get(), shape }),
            _ => Err(A::Error::custom("incomplete")),
        }
    }
}

impl<'de> Deserialize<'de> for Outline<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OutlineVisitor)
    }
}

struct OutlineVisitor;

impl<'de> Visitor<'de> for OutlineVisitor {
    type Value = Outline<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Outline<'de>, A::Error> {
        let mut outline = Outline::default();
        while let Some(name) = map.next_key()? {
            let value: &'de RawValue = map.next_value()?;
            let missing = value.get() == "null";
            match name {
                Name::Seq if missing => {}
                Name::Seq if outline.seq.is_none() => outline.seq = Some(value),
                Name::Seq => outline.seq_again = true,
                Name::Operation(verb) => {
                    outline.hello |= verb == Verb::Hello;
                    match outline.operation {
                        _ if missing => {}
                        None => outline.operation = Some((verb, value)),
                        Some(_) => outline.another = outline.another.or(Some(verb)),
                    }
                }
                Name::Unknown => outline.unknown = true,
            }
        }
        Ok(outline)
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_identifier(NameVisitor)
    }
}

struct NameVisitor;

impl Visitor<'_> for NameVisitor {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        Ok(match name {
            "seq" => Name::Seq,
            _ => Verb::of_word(name).map_or(Name::Unknown, Name::Operation),
        })
    }
}
