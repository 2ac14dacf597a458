//! Users of whom the hot store keeps more than what is to stay hot.

use std::time::Duration;

use super::Answer;
use super::cold_filter::ColdFilter;
use super::optimistic::{ListedUser, Trimmed};
use crate::turn::Turn;
use model::ids::{Content, UserId};
use model::shard::{Region, Shard};

/// Finds users with rows that the history store should have, and lists users anew who are behind there.
///
/// May be called from any thread.
pub trait TrimUsers: Send + Sync + 'static {
    /// Asks for the lease to look through the users of a region. It only spares double work. `since`: a look that began
    /// then or later, milliseconds, need not be repeated.
    fn take_look(&self, region: Region, since: u64, lease: Duration) -> Answer<Turn>;

    /// Takes note that all users of the region were looked at since `began`, milliseconds.
    fn end_look(&self, region: Region, began: u64) -> Answer<()>;

    /// Some users of the shard who have more than `bounds` allow, and no changes that wait to be carried. `from`: where
    /// the page before ended; `None`: the first page. A user who is there throughout is on at least one page.
    fn beyond(&self, shard: Shard, from: Option<String>, bounds: HotBounds) -> Answer<BeyondPage>;

    /// All of the user's data. Head and rows may be of different moments: the head is older than the rows.
    fn read_whole(&self, user: UserId) -> Answer<ListedUser>;

    /// The same, head and rows of one moment.
    fn read_at_once(&self, user: UserId) -> Answer<ListedUser>;

    /// Takes rows of a user out of the hot store that the history store has; see [`trim`](super::optimistic::trim).
    fn trim(&self, trim: Trim, now: u64) -> Answer<Trimmed>;

    /// Lists users again, with all their rows, whether they are listed or not. Returns the number of users with data.
    fn list_again(&self, users: Vec<UserId>, now: u64) -> Answer<u64>;

    /// The same for all users of a shard.
    fn list_shard_again(&self, shard: Shard, now: u64) -> Answer<u64>;
}

/// Rows that are to leave the hot store.
pub struct Trim {
    pub user: ListedUser,
    pub leaving: Vec<Content>,
    /// All contents that the history store has of the user; `None`: they are too many.
    pub filter: Option<ColdFilter>,
}

/// The part of a user that may stay hot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HotBounds {
    pub contents_max: u64,
    /// Only the head stays of a user without a write since this moment, milliseconds. 0 = more may stay of every user.
    pub idle_since: u64,
}

/// A page of users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BeyondPage {
    pub users: Vec<BeyondUser>,
    /// Where the next page begins; `None`: this was the last one.
    pub next: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeyondUser {
    pub user: UserId,
    /// Whether the user has not been written for so long that only the head stays.
    pub is_idle: bool,
}

impl HotBounds {
    /// `None`: the user may stay. `contents`: their number, `written`: the last write, milliseconds.
    pub fn exceeds(&self, user: UserId, contents: u64, written: u64) -> Option<BeyondUser> {
        // One content is in the head, which stays.
        let is_idle = written < self.idle_since && contents > 1;
        (is_idle || contents > self.contents_max).then_some(BeyondUser { user, is_idle })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_with_many_contents_or_without_a_write_for_long_exceed_the_bounds() {
        let bounds = HotBounds { contents_max: 20, idle_since: 1_000 };
        let is_idle = |contents, written| bounds.exceeds(UserId(1), contents, written).map(|user| user.is_idle);
        assert_eq!((is_idle(20, 1_000), is_idle(21, 1_000), is_idle(2, 999)), (None, Some(false), Some(true)));
        assert_eq!(is_idle(1, 0), None, "the head stays");
        let never_idle = HotBounds { idle_since: 0, ..bounds };
        assert_eq!(never_idle.exceeds(UserId(1), 20, 0), None);
    }
}
