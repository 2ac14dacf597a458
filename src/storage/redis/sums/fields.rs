//! Sums as the fields of a hash.

use ::redis::Value;

use crate::value::{self, DecodeError};
use model::sums::{CounterSum, Sum, SumKey};

/// Suffix of a content whose views restart.
const RESTARTS: &str = "!";

const PAIRS: DecodeError = DecodeError("a hash of sums");

/// Fields and their numbers, from the answer to `HGETALL` or `HSCAN`.
pub fn pairs(value: Value) -> Result<Vec<[String; 2]>, DecodeError> {
    let fields = value::texts(value)?;
    let (pairs, []) = fields.as_chunks::<2>() else { return Err(PAIRS) };
    Ok(pairs.to_vec())
}

/// A content that restarts has two fields.
pub fn sum([field, number]: &[String; 2]) -> Result<(SumKey, Sum), DecodeError> {
    // Counters never restart.
    let restarts = field.strip_suffix(RESTARTS).filter(|field| !field.starts_with(CounterSum::MARK));
    let (field, sum) = match restarts {
        Some(field) => (field, Sum { restarts: true, by: 0 }),
        None => (field.as_str(), Sum::of(number.parse().map_err(|_| PAIRS)?)),
    };
    Ok((field.parse().map_err(|_| PAIRS)?, sum))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::counters::CounterKey;
    use model::ids::Content;

    fn hash(fields: &[&str]) -> Value {
        Value::Array(fields.iter().map(|field| Value::BulkString(field.as_bytes().to_vec())).collect())
    }

    fn sums(value: Value) -> Result<Vec<(SumKey, Sum)>, DecodeError> {
        pairs(value)?.iter().map(sum).collect()
    }

    #[test]
    fn fields_are_sums() {
        let content = Content { kind: 1, oid: 100 };
        let on = SumKey::ViewsOn(content, "2026-11-20".parse().unwrap());
        let found = sums(hash(&["1:100", "5", "1:100!", "1", "1:100:2026-11-20", "3", "=3:viewers:1!100", "-2"]));
        let views = SumKey::Views(content);
        let key = CounterKey::of(["1", "100"]).unwrap();
        let counter = SumKey::Counter(CounterSum { generation: 3, id: "viewers".parse().unwrap(), key });
        let restart = Sum { restarts: true, by: 0 };
        assert_eq!(
            found,
            Ok(vec![(views.clone(), Sum::of(5)), (views, restart), (on, Sum::of(3)), (counter, Sum::of(-2))])
        );
        assert_eq!(sums(hash(&[])), Ok(Vec::new()));
        for wrong in [vec!["1:100"], vec!["1:100", "x"], vec!["x", "1"], vec!["!", "1"]] {
            assert!(sums(hash(&wrong)).is_err(), "{wrong:?}");
        }
    }
}
