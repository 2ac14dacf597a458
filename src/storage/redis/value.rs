//! Answers of Redis, taken apart.

use ::redis::Value;

use storage::store_error::StoreError;

/// A stored value, or an answer, is not in a form that this program writes.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unreadable value in redis: {0}")]
pub struct DecodeError(pub &'static str);

const ANSWER: DecodeError = DecodeError("an answer");
const OTHER_TYPE: DecodeError = DecodeError("a key of another type");

fn unexpected(value: &Value) -> DecodeError {
    if matches!(value, Value::ServerError(_)) { OTHER_TYPE } else { ANSWER }
}

pub fn array(value: Value) -> Result<Vec<Value>, DecodeError> {
    match value {
        Value::Array(values) => Ok(values),
        other => Err(unexpected(&other)),
    }
}

pub fn bytes(value: Value) -> Result<Vec<u8>, DecodeError> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        other => Err(unexpected(&other)),
    }
}

/// `None`: there is no such key or field.
pub fn bytes_or_nil(value: Value) -> Result<Option<Vec<u8>>, DecodeError> {
    match value {
        Value::Nil => Ok(None),
        other => bytes(other).map(Some),
    }
}

pub fn number(value: Value) -> Result<u64, DecodeError> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| ANSWER),
        other => Err(unexpected(&other)),
    }
}

pub fn texts(value: Value) -> Result<Vec<String>, DecodeError> {
    let text = |value| String::from_utf8(bytes(value)?).map_err(|_| ANSWER);
    array(value)?.into_iter().map(text).collect()
}

impl From<DecodeError> for StoreError {
    fn from(error: DecodeError) -> Self {
        StoreError::Away(error.to_string())
    }
}
