//! Answers of Redis, taken apart.

use ::redis::Value;

use super::bytes::Malformed;

const ANSWER: Malformed = Malformed("an answer");

pub fn array(value: Value) -> Result<Vec<Value>, Malformed> {
    match value {
        Value::Array(values) => Ok(values),
        _ => Err(ANSWER),
    }
}

pub fn bytes(value: Value) -> Result<Vec<u8>, Malformed> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        _ => Err(ANSWER),
    }
}

/// `None`: there is no such key or field.
pub fn bytes_or_nil(value: Value) -> Result<Option<Vec<u8>>, Malformed> {
    match value {
        Value::Nil => Ok(None),
        other => bytes(other).map(Some),
    }
}

pub fn number(value: Value) -> Result<u64, Malformed> {
    match value {
        Value::Int(number) => u64::try_from(number).map_err(|_| ANSWER),
        _ => Err(ANSWER),
    }
}

pub fn texts(value: Value) -> Result<Vec<String>, Malformed> {
    let text = |value| String::from_utf8(bytes(value)?).map_err(|_| ANSWER);
    array(value)?.into_iter().map(text).collect()
}
