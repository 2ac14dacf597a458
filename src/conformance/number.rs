//! Numbers of the wire, as the protocol reads them.

use serde_json::Value;

/// Times and lengths end here.
const INTEGER_MAX: u64 = (1 << 53) - 1;

/// Milliseconds or a count: `5.0` is none.
pub fn integer(value: &Value) -> Option<u64> {
    value.as_u64().filter(|number| *number <= INTEGER_MAX)
}

/// A 64-bit id: decimal digits as a string, or an integer that is exact in JavaScript.
pub fn id(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => integer(value),
    }
}

/// A field, where `null` stands for a missing one.
pub fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).filter(|value| !value.is_null())
}

/// The day of a moment in UTC, as the wire writes it.
pub fn day(milliseconds: i64) -> String {
    let moment = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    moment.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_ids_are_those_of_the_protocol() {
        assert_eq!(integer(&json!(5)), Some(5));
        for bad in [json!(5.0), json!(-1), json!("5"), json!(1_u64 << 53)] {
            assert_eq!(integer(&bad), None, "{bad}");
        }
        assert_eq!(id(&json!("018446744073709551615")), Some(u64::MAX));
        assert_eq!(id(&json!(7)), Some(7));
        for bad in [json!(""), json!("+1"), json!("18446744073709551616"), json!(1.5)] {
            assert_eq!(id(&bad), None, "{bad}");
        }
    }

    #[test]
    fn a_day_is_a_date_in_utc() {
        assert_eq!(day(1_795_267_773_843), "2026-11-21");
    }
}
