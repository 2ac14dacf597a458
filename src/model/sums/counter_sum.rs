//! The key of a sum of a derived counter.

use std::fmt;
use std::str::FromStr;

use super::no_sum_key::NoSumKey;
use crate::counters::{CounterId, CounterKey};

/// One number of a counter, in one generation. As text `=3:viewers:1!100`, and `=3:all:` for a key without parts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterSum {
    /// A counter that is counted anew has a new generation. Numbers of generations are never used again.
    pub generation: u32,
    pub id: CounterId,
    pub key: CounterKey,
}

impl CounterSum {
    /// Begins the text. The key of no other sum begins with it.
    pub const MARK: char = '=';
}

impl fmt::Display for CounterSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}:{}:{}", Self::MARK, self.generation, self.id, self.key.encoded())
    }
}

impl FromStr for CounterSum {
    type Err = NoSumKey;

    fn from_str(text: &str) -> Result<Self, NoSumKey> {
        let read = || {
            let mut parts = text.strip_prefix(Self::MARK)?.split(':');
            let (generation, id, key) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
            let key = CounterKey::of_encoded(key);
            parts.next().is_none().then_some(CounterSum { generation, id, key })
        };
        read().ok_or_else(|| NoSumKey(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        for (parts, text) in [
            (vec!["1", "100"], "=3:viewers:1!100"),
            (vec![], "=3:viewers:"),
            (vec!["a:b!", "ä"], "=3:viewers:a%3Ab%21!%C3%A4"),
        ] {
            let key = CounterKey::of(parts).unwrap();
            let sum = CounterSum { generation: 3, id: "viewers".parse().unwrap(), key };
            assert_eq!(sum.to_string(), text);
            assert_eq!(text.parse(), Ok(sum));
        }
        for wrong in ["", "=", "3:x:1", "=3:x", "=:x:1", "=3::1", "=x:x:1", "=4294967296:x:1", "=3:a b:1", "=3:x:1:2"] {
            assert_eq!(wrong.parse::<CounterSum>(), Err(NoSumKey(wrong.to_owned())), "{wrong}");
        }
    }
}
