//! A sum and its key.

use std::fmt;
use std::str::FromStr;

use super::counter_sum::CounterSum;
use super::no_sum_key::NoSumKey;
use crate::ids::Content;
use crate::rewards::day::Day;

/// The key of a sum. As text `1:100`, `1:100:2026-11-20` and `=3:viewers:1!100`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SumKey {
    /// All views of a content.
    Views(Content),
    /// The views of a content on one day.
    ViewsOn(Content, Day),
    /// The sum that the records of a derived counter add up to.
    Counter(CounterSum),
}

impl SumKey {
    /// Whose views it counts.
    pub fn content(&self) -> Option<Content> {
        match self {
            SumKey::Views(content) | SumKey::ViewsOn(content, _) => Some(*content),
            SumKey::Counter(_) => None,
        }
    }
}

/// An amount to add to a stored total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// The stored total is deleted first, so that this sum replaces it.
    pub restarts: bool,
    pub by: i64,
}

impl Sum {
    pub const fn of(by: i64) -> Self {
        Sum { restarts: false, by }
    }

    /// Adds the sum of another shard.
    pub fn join(&mut self, other: Sum) {
        self.restarts |= other.restarts;
        self.by += other.by;
    }

    /// The total after this sum is added to a stored one.
    pub fn upon(self, stored: i64) -> i64 {
        if self.restarts { self.by } else { stored + self.by }
    }
}

impl fmt::Display for SumKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SumKey::Views(content) => content.fmt(f),
            SumKey::ViewsOn(content, day) => write!(f, "{content}:{day}"),
            SumKey::Counter(sum) => write!(f, "{sum}"),
        }
    }
}

impl FromStr for SumKey {
    type Err = NoSumKey;

    fn from_str(text: &str) -> Result<Self, NoSumKey> {
        if text.starts_with(CounterSum::MARK) {
            return text.parse().map(SumKey::Counter);
        }
        let malformed = || NoSumKey(text.to_owned());
        let mut parts = text.splitn(3, ':');
        let mut next = || parts.next();
        let kind = next().and_then(|kind| kind.parse().ok()).ok_or_else(malformed)?;
        let oid = next().and_then(|oid| oid.parse().ok()).ok_or_else(malformed)?;
        let content = Content { kind, oid };
        match next() {
            None => Ok(SumKey::Views(content)),
            Some(day) => Ok(SumKey::ViewsOn(content, day.parse().map_err(|_| malformed())?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CounterKey;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let content = Content { kind: 7, oid: u64::MAX };
        let day: Day = "2026-11-20".parse().unwrap();
        let key = CounterKey::of(["7", "a:b"]).unwrap();
        let counter = CounterSum { generation: 3, id: "viewers".parse().unwrap(), key };
        for key in [SumKey::Views(content), SumKey::ViewsOn(content, day), SumKey::Counter(counter)] {
            assert_eq!(key.to_string().parse(), Ok(key));
        }
        for wrong in ["", "1", "1:", ":1", "1:2:", "1:2:2026-13-01", "65536:1", "1:2:2026-11-20:3", "=3:x"] {
            assert_eq!(wrong.parse::<SumKey>(), Err(NoSumKey(wrong.to_owned())), "{wrong}");
        }
    }

    #[test]
    fn a_restart_replaces_the_stored_total() {
        let mut sum = Sum::of(2);
        assert_eq!(sum.upon(10), 12);
        sum.join(Sum { restarts: true, by: 3 });
        assert_eq!((sum, sum.upon(10)), (Sum { restarts: true, by: 5 }, 5));
    }
}
