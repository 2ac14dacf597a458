//! The changes that a store can commit, and their outcomes.

use std::sync::Arc;

use super::beat::Beat;
use super::cold::ColdContents;
use super::ids::{Content, UserId};
use super::rewards::rule::RuleSet;
use super::rule::Verdict;

/// One change of the data of one user.
#[derive(Clone, Debug)]
pub struct Change {
    pub user: UserId,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// An admitted beat, and those of its session and content that it may speak for, the oldest first: if it was made
    /// while recording was paused, the one before it counts, and so on. `asks`: the rules by which it may be rewarded.
    Beat { beat: Beat, earlier: Vec<Beat>, device: Arc<str>, asks: RuleSet },
    /// Delete the records of these contents up to that moment (server-clock milliseconds).
    Delete { contents: Vec<Content>, at: u64 },
    /// Delete all records up to that moment.
    Clear { at: u64 },
    /// Pause or resume recording, from that moment on.
    Recording { paused: bool, at: u64 },
    /// Keep nothing of the user that is not newer than that moment: no record, no tombstone, no switch, no claim; only
    /// that nothing so old may come back. It is done once, however often it is committed.
    Erase { at: u64 },
    /// Remove what no read returns any more: what a clear hides, and what is older than `horizon` (milliseconds) and
    /// the retention. As much of it as one commit may take.
    Prune { horizon: u64 },
}

impl Action {
    /// A beat that speaks for no other.
    pub fn beat(beat: Beat, device: Arc<str>, asks: RuleSet) -> Self {
        Action::Beat { beat, earlier: Vec::new(), device, asks }
    }
}

/// The outcome of a [`Change`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// `skipped`: so many beats, the newest ones, were made while recording was paused. The verdict is on the one
    /// before them, or on the oldest of all.
    Beat { verdict: Verdict, skipped: usize },
    /// `moved`: the contents whose tombstone rose to `at`.
    Deleted { moved: Vec<Content>, at: u64 },
    /// `moved`: the watermark rose to `at`.
    Cleared { moved: bool, at: u64 },
    /// `changed`: the state before it was the other one. `paused`: the state after it.
    Recording { changed: bool, paused: bool },
    /// Nothing up to `at` is there or comes back. `moved`: it was not done before. `resumed`: recording was paused, and
    /// is not any more.
    Erased { at: u64, resumed: bool, moved: bool },
    /// `more`: there are more rows to remove.
    Pruned { more: bool },
    /// The `at` lies ahead of the clock and is newer than every record concerned: nothing was done.
    Ahead,
    /// Nothing was decided yet: contents have to be read from the history store first.
    Cold(Box<ColdContents>),
    /// The user's stored state cannot be read: nothing was done, and nothing will be until that is mended.
    Unreadable { why: Arc<str> },
}

impl Outcome {
    /// Whether the change had an effect that listeners have to get.
    pub fn is_news(&self) -> bool {
        match self {
            Outcome::Beat { verdict, .. } => matches!(verdict, Verdict::Written { .. }),
            Outcome::Deleted { moved, .. } => !moved.is_empty(),
            Outcome::Cleared { moved, .. } | Outcome::Erased { moved, .. } => *moved,
            Outcome::Recording { changed, .. } => *changed,
            Outcome::Pruned { .. } | Outcome::Ahead | Outcome::Cold(_) | Outcome::Unreadable { .. } => false,
        }
    }

    /// Whether more was done than to move the position of a record that goes on.
    pub fn is_change(&self) -> bool {
        self.is_news() && !matches!(self, Outcome::Beat { verdict: Verdict::Written { steady: true, .. }, .. })
    }
}

/// The answer to the newest beat.
impl From<Verdict> for Outcome {
    fn from(verdict: Verdict) -> Self {
        Outcome::Beat { verdict, skipped: 0 }
    }
}

/// The decision on a rule that was asked for, and whose minimum has been watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// The index of the change in its group.
    pub change: usize,
    /// The index of the rule.
    pub rule: usize,
    /// The claim was made for it; otherwise there was one already.
    pub first: bool,
}
