//! A value as a part's settings are read from it. What does not fit is said in the words of the settings, not in those
//! of a programming language.

use std::fmt::Display;

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use toml::Value;

use super::layers::nearest;

pub(super) struct Given(pub Value);

/// Why a value cannot be taken.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Misfit(String);

impl<'de> Deserializer<'de> for Given {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::Boolean(flag) => visitor.visit_bool(flag),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::String(text) => visitor.visit_string(text),
            Value::Datetime(moment) => visitor.visit_string(moment.to_string()),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Given))),
            Value::Table(table) => {
                visitor.visit_map(MapDeserializer::new(table.into_iter().map(|(key, value)| (key, Given(value)))))
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        match self.0 {
            Value::String(word) => visitor.visit_enum(word.into_deserializer()),
            other => Err(Misfit(format!("expected {}, got {}", one_of(words), described(&other)))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

impl IntoDeserializer<'_, Misfit> for Given {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl Error for Misfit {
    fn custom<T: Display>(message: T) -> Self {
        Misfit(message.to_string())
    }

    fn invalid_type(got: Unexpected, expected: &dyn Expected) -> Self {
        Misfit(format!("expected {}, got {}", in_plain_words(expected), shown(&got)))
    }

    fn invalid_value(got: Unexpected, expected: &dyn Expected) -> Self {
        Self::invalid_type(got, expected)
    }

    fn unknown_variant(word: &str, words: &'static [&'static str]) -> Self {
        Misfit(format!("expected {}, got {word:?}", one_of(words)))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let known: Vec<_> = known.iter().map(|known| (*known).to_owned()).collect();
        let hint = match nearest(field, known.iter()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known: {}", known.join(", ")),
        };
        Misfit(format!("no such field; {hint}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Misfit(format!("{field} is missing"))
    }
}

fn in_plain_words(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    match said.as_str() {
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" | "usize" | "i64" => "a whole number".to_owned(),
        "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a duration" => "a duration such as \"30s\"".to_owned(),
        _ if said.starts_with("a nonzero") => "a whole number of at least 1".to_owned(),
        _ if said.starts_with("struct ") => "a table".to_owned(),
        _ => said,
    }
}

fn one_of(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

fn shown(got: &Unexpected) -> String {
    match got {
        Unexpected::Bool(flag) => flag.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Str(text) => format!("{text:?}"),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        _ => "something else".to_owned(),
    }
}

/// Describes a value, without the value of a text, which may be a secret.
fn described(value: &Value) -> String {
    match value {
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        other => other.to_string(),
    }
}
