//! The names of the keys of names.
//!
//! | key | what | type |
//! |---|---|---|
//! | `{h}:names` | of each name whose hash is of the shard: the hash → its [entry](Entry) | hash |
//! | `{h}:nametexts` | of each user of the shard: the number → the name; empty = it was dropped | hash |
//! | `{h0}:namelast` | the greatest number that some process may have given | string |
//! | `{h0}:namekey` | random: the key of the hashes, in hex digits | string |

use crate::tag;
use crate::value::DecodeError;
use model::ids::UserId;
use model::shard::Shard;
use storage::names::Numbered;

/// The shard of the block of numbers and of the key.
pub const COMMON: Shard = Shard(0);
pub const NAMES: &str = ":names";
pub const TEXTS: &str = ":nametexts";
/// Stands after the number of a name whose text was dropped.
const DROPPED: u8 = b'-';

/// The number of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub user: UserId,
    /// The text has to be written again at the user's next welcome.
    pub dropped: bool,
}

pub fn names(shard: Shard) -> String {
    format!("{}{NAMES}", tag(shard))
}

pub fn texts(shard: Shard) -> String {
    format!("{}{TEXTS}", tag(shard))
}

pub fn key() -> String {
    format!("{}:namekey", tag(COMMON))
}

impl From<Entry> for Numbered {
    fn from(Entry { user, dropped: is_dropped }: Entry) -> Self {
        Numbered { user, is_dropped }
    }
}

impl Entry {
    pub fn encode(self) -> Vec<u8> {
        let mut text = self.user.0.to_string().into_bytes();
        text.extend(self.dropped.then_some(DROPPED));
        text
    }

    pub fn parse(text: &[u8]) -> Result<Self, DecodeError> {
        let (digits, dropped) = text.strip_suffix(&[DROPPED]).map_or((text, false), |digits| (digits, true));
        let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        Ok(Entry { user: UserId(number.ok_or(DecodeError("the number of a name"))?), dropped })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_parsed_as_written() {
        for (text, user, dropped) in [("1", 1, false), ("18446744073709551615-", u64::MAX, true)] {
            let entry = Entry { user: UserId(user), dropped };
            assert_eq!(entry.encode(), text.as_bytes());
            assert_eq!(Entry::parse(text.as_bytes()), Ok(entry));
        }
        for other in ["", "-", "x", "1--", "1 "] {
            assert!(Entry::parse(other.as_bytes()).is_err(), "{other:?}");
        }
    }
}
