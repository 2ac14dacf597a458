//! Strings: bounded ones, the words of a state, the name of a connection.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::value::RawValue;

use model::beat::State;
use model::content_name::ContentName;
use model::ids::ConnectionId;
use model::rewards::day::Day;

/// At most `MAX` bytes.
#[derive(Debug)]
pub(super) struct Text<const MAX: usize>(pub String);

#[derive(Clone, Copy, Debug)]
pub(super) struct StateWord(pub State);

/// A date; anything else counts as none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flag(pub Option<Day>);

#[derive(Clone, Copy, Debug)]
pub(super) struct ConnectionName(pub ConnectionId);

impl<'de, const MAX: usize> Deserialize<'de> for Text<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor<const MAX: usize>;

impl<const MAX: usize> Visitor<'_> for TextVisitor<MAX> {
    type Value = Text<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        if text.len() > MAX {
            return Err(E::custom(format_args!("must be at most {MAX} bytes long")));
        }
        Ok(Text(text.to_owned()))
    }
}

/// An `oid` where contents are named by texts. A number is none.
#[derive(Debug)]
pub(super) struct ContentText(pub ContentName);

impl<'de> Deserialize<'de> for ContentText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ContentVisitor)
    }
}

struct ContentVisitor;

impl Visitor<'_> for ContentVisitor {
    type Value = ContentText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ContentText, E> {
        ContentName::new(text).map(ContentText).map_err(E::custom)
    }
}

impl<'de> Deserialize<'de> for StateWord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(StateVisitor)
    }
}

struct StateVisitor;

impl Visitor<'_> for StateVisitor {
    type Value = StateWord;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("playing, paused, seeked or ended")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<StateWord, E> {
        State::of_word(word).map(StateWord).ok_or_else(|| E::custom("must be playing, paused, seeked or ended"))
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(deserializer)?.get();
        let text: Option<Cow<'_, str>> = serde_json::from_str(json).ok();
        Ok(Flag(text.and_then(|text| text.parse().ok())))
    }
}

impl ConnectionName {
    const EXPECTED: &str = "the 16 hex digits of a welcome";

    pub fn from_text(text: &str) -> Option<Self> {
        // The parser alone would take a sign, and less.
        let well_formed = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        well_formed.then(|| text.parse().ok().map(ConnectionName))?
    }

    pub fn complaint() -> String {
        format!("must be {}", Self::EXPECTED)
    }
}

impl<'de> Deserialize<'de> for ConnectionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(ConnectionVisitor)
    }
}

struct ConnectionVisitor;

impl Visitor<'_> for ConnectionVisitor {
    type Value = ConnectionName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(ConnectionName::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<ConnectionName, E> {
        ConnectionName::from_text(text).ok_or_else(|| E::custom(ConnectionName::complaint()))
    }
}
