//! What can be asked of a store, and what it answers.

use std::sync::Arc;

use super::beat::Beat;
use super::ids::{Content, UserId};
use super::rewards::rule::RuleSet;
use super::rule::{AHEAD_MS_MAX, Verdict};

/// One thing to do to what is kept of one user.
#[derive(Clone, Debug)]
pub struct Change {
    pub user: UserId,
    pub action: Action,
}

#[derive(Clone, Debug)]
pub enum Action {
    /// An admitted beat. `asks`: the rules by which it may be rewarded.
    Beat { beat: Beat, device: Arc<str>, asks: RuleSet },
    /// Forget these contents.
    Delete { contents: Vec<Content>, at: When },
    /// Forget everything.
    Clear { at: When },
    /// Pause or resume recording.
    Recording { paused: bool, at: When },
    /// Keep nothing of the user, from the commit on: no record, no tombstone, no switch; only that nothing so old may
    /// come back.
    Erase,
}

/// The moment from which a forgetting holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// As the client says, server-clock milliseconds.
    At(u64),
    /// When it was asked for (server-clock milliseconds), and not before the newest record concerned. A commit that comes
    /// late, or once more, covers nothing of what was played since.
    Asked(u64),
}

/// What became of a [`Change`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Beat(Verdict),
    /// `moved`: the contents whose tombstone rose to `at`.
    Deleted {
        moved: Vec<Content>,
        at: u64,
    },
    /// `moved`: the watermark rose to `at`.
    Cleared {
        moved: bool,
        at: u64,
    },
    /// `moved`: the switch was new. `paused`: the state after it.
    Recording {
        moved: bool,
        paused: bool,
    },
    /// Nothing up to `at` is there or comes back. `resumed`: recording was paused, and is not any more.
    Erased {
        at: u64,
        resumed: bool,
    },
    /// The `at` lies ahead of the clock and is newer than every record concerned: nothing was done.
    Ahead,
}

/// What the store knows of a rule that was asked for, and whose minimum has been watched.
#[derive(Clone, Debug, PartialEq)]
pub struct Decided {
    /// Which change of the group asked.
    pub change: usize,
    /// The rule's place.
    pub rule: usize,
    /// The claim was made for it; otherwise there was one already.
    pub first: bool,
}

impl When {
    /// The moment itself; `None` when it is ahead of what may be. `newest` gives the `at` of the newest record
    /// concerned (0 = none) and is asked only if the answer depends on it.
    pub fn resolve<E>(self, now: u64, newest: impl FnOnce() -> Result<u64, E>) -> Result<Option<u64>, E> {
        Ok(match self {
            When::Asked(asked) => Some(newest()?.min(asked + AHEAD_MS_MAX).max(asked)),
            When::At(at) if at <= now + AHEAD_MS_MAX => Some(at),
            When::At(at) => (at <= newest()?).then_some(at),
        })
    }
}
