//! The parts of an answer of a script, one after the other.

use std::vec::IntoIter;

use ::redis::Value;

use crate::value::{self, DecodeError};

pub const MALFORMED: DecodeError = DecodeError("an answer about subscribers' queues");

pub struct Parts(IntoIter<Value>);

impl Parts {
    pub fn of(answer: Value) -> Result<Self, DecodeError> {
        Ok(Parts(value::array(answer)?.into_iter()))
    }

    pub fn is_over(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    pub fn value(&mut self) -> Result<Value, DecodeError> {
        self.0.next().ok_or(MALFORMED)
    }

    pub fn parts(&mut self) -> Result<Parts, DecodeError> {
        Parts::of(self.value()?)
    }

    pub fn text(&mut self) -> Result<String, DecodeError> {
        self.text_or_nil()?.ok_or(MALFORMED)
    }

    pub fn text_or_nil(&mut self) -> Result<Option<String>, DecodeError> {
        let bytes = value::bytes_or_nil(self.value()?)?;
        bytes.map(|bytes| String::from_utf8(bytes).map_err(|_| MALFORMED)).transpose()
    }

    pub fn number(&mut self) -> Result<u64, DecodeError> {
        self.number_or_nil()?.ok_or(MALFORMED)
    }

    /// A number, or its decimal text.
    pub fn number_or_nil(&mut self) -> Result<Option<u64>, DecodeError> {
        match self.value()? {
            Value::Nil => Ok(None),
            Value::BulkString(text) => {
                let number = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
                number.map(Some).ok_or(MALFORMED)
            }
            other => value::number(other).map(Some),
        }
    }
}
