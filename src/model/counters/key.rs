//! The key of one number of a counter.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use percent_encoding::{percent_decode_str, utf8_percent_encode};
use serde::{Deserialize, Serialize};

use crate::percent::RESERVED;
use crate::user_name::UserName;

/// Less than everything in an encoded part, so that encoded keys sort as their parts do.
const SEPARATOR: char = '!';

/// The parts of a key, such as kind and oid. A counter with one number for everything has a key without parts.
///
/// The parts are kept percent-encoded in one text: `1!100`, `tv%203`. A key that begins with the parts of another one and
/// a separator is in a range of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct CounterKey(Arc<str>);

/// These are not the parts of a key.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NoCounterKey {
    #[error("a part of a key has 1 to {max} bytes, this one has {0}", max = CounterKey::PART_BYTES_MAX)]
    Part(usize),
    #[error("a key has at most {} parts", CounterKey::PARTS_MAX)]
    Parts,
}

impl CounterKey {
    /// A part may be the name of a user.
    pub const PART_BYTES_MAX: usize = UserName::BYTES_MAX;
    pub const PARTS_MAX: usize = 8;

    /// # Errors
    /// A part is empty or too long, or there are too many.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Result<Self, NoCounterKey> {
        let mut text = String::new();
        for (index, part) in parts.into_iter().enumerate() {
            if index == Self::PARTS_MAX {
                return Err(NoCounterKey::Parts);
            }
            if !(1..=Self::PART_BYTES_MAX).contains(&part.len()) {
                return Err(NoCounterKey::Part(part.len()));
            }
            if index > 0 {
                text.push(SEPARATOR);
            }
            text.extend(utf8_percent_encode(part, RESERVED));
        }
        Ok(CounterKey(text.into()))
    }

    /// A key as it was stored.
    pub fn of_encoded(text: &str) -> Self {
        CounterKey(text.into())
    }

    /// By which it is stored.
    pub fn encoded(&self) -> &str {
        &self.0
    }

    pub fn parts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let parts = (!self.0.is_empty()).then(|| self.0.split(SEPARATOR));
        parts.into_iter().flatten().map(|part| percent_decode_str(part).decode_utf8_lossy())
    }

    /// Whether the first parts are those of `prefix`.
    pub fn begins_with(&self, prefix: &CounterKey) -> bool {
        prefix.0.is_empty()
            || self.0.strip_prefix(&*prefix.0).is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATOR))
    }

    /// All keys that begin with the parts of this one are this one, or begin with this text.
    pub fn encoded_prefix(&self) -> String {
        if self.0.is_empty() { String::new() } else { format!("{}{SEPARATOR}", self.0) }
    }
}

impl TryFrom<Vec<String>> for CounterKey {
    type Error = NoCounterKey;

    fn try_from(parts: Vec<String>) -> Result<Self, NoCounterKey> {
        CounterKey::of(parts.iter().map(String::as_str))
    }
}

impl From<CounterKey> for Vec<String> {
    fn from(key: CounterKey) -> Self {
        key.parts().map(Cow::into_owned).collect()
    }
}

/// `1:100`, as in the ids of events.
impl fmt::Display for CounterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.replace(SEPARATOR, ":"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> CounterKey {
        CounterKey::of(parts.iter().copied()).unwrap()
    }

    #[test]
    fn parts_are_read_as_they_were_given() {
        for parts in [vec![], vec!["1"], vec!["1", "100"], vec!["tv 3!", "50%", "ä:b"]] {
            let key = key(&parts);
            assert_eq!(key.parts().collect::<Vec<_>>(), parts);
            assert_eq!(CounterKey::of_encoded(key.encoded()), key);
        }
        assert_eq!(key(&["1", "a:b"]).to_string(), "1:a%3Ab");
    }

    #[test]
    fn a_part_has_1_to_256_bytes() {
        assert_eq!(CounterKey::of([""]), Err(NoCounterKey::Part(0)));
        assert_eq!(CounterKey::of(["a", &"x".repeat(257)]), Err(NoCounterKey::Part(257)));
        assert!(CounterKey::of(["x".repeat(256).as_str()]).is_ok());
        assert_eq!(CounterKey::of(["a"; 9]), Err(NoCounterKey::Parts));
    }

    #[test]
    fn keys_sort_by_their_parts() {
        let sorted = [key(&["1"]), key(&["1", "100"]), key(&["1", "2"]), key(&["10", "1"]), key(&["1a"]), key(&["9"])];
        assert!(sorted.is_sorted());
    }

    #[test]
    fn a_prefix_is_of_whole_parts() {
        assert!(key(&["1", "100"]).begins_with(&key(&["1"])));
        assert!(key(&["1"]).begins_with(&key(&["1"])));
        assert!(key(&["1"]).begins_with(&key(&[])));
        assert!(!key(&["10", "1"]).begins_with(&key(&["1"])));
        assert!(!key(&["1"]).begins_with(&key(&["1", "100"])));
        assert!(key(&["1", "100"]).encoded().starts_with(&key(&["1"]).encoded_prefix()));
    }
}
