//! Words of the scripts, and of their answers.

use ::redis::Value;

use crate::value::DecodeError;
use model::shard::Shard;

pub type Words = Vec<Vec<u8>>;

/// The index of a shard in a call, from 1 on. Shards are in their order.
pub fn index_of(shards: &[Shard], shard: Shard) -> usize {
    shards.binary_search(&shard).map_or(0, |index| index + 1)
}

/// A whole number, whatever it is written as: a score may have an exponent.
pub fn number(value: &Value) -> Result<i64, DecodeError> {
    const NO_NUMBER: DecodeError = DecodeError("the number of a counter");
    match value {
        Value::Int(number) => Ok(*number),
        Value::BulkString(text) => {
            let number: f64 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(NO_NUMBER)?;
            // Counters stay within what a double holds exactly.
            Ok(number as i64)
        }
        _ => Err(NO_NUMBER),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_read_in_any_form() {
        let of = |text: &str| number(&Value::BulkString(text.as_bytes().to_vec())).ok();
        for (text, value) in
            [("5", 5), ("-0", 0), ("9e+15", 9_000_000_000_000_000), ("-9007199254740991", -((1 << 53) - 1))]
        {
            assert_eq!(of(text), Some(value), "{text}");
        }
        assert_eq!((of("x"), number(&Value::Int(-3)).ok(), number(&Value::Nil).ok()), (None, Some(-3), None));
    }
}
