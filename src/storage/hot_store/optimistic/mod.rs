//! How several gateways share one hot store: each decides by itself, and the store takes a decision only if nothing of
//! its user has changed since.
//!
//! ```text
//! group ─▶ load what the cache does not know ─▶ decide, user by user ─▶ apply under each user's token ─▶ outcomes
//!              ▲                                                            │ refused: another one was first  
//!              └────────────────────────── decide anew ◀────────────────────┘
//! ```
//!
//! This is optimistic concurrency control (Kung and Robinson, "On optimistic methods for concurrency control", 1981)
//! with one version for all that is kept of a user: the [`Token`] in the user's [`Head`]. Every write renews it, and no
//! token is ever given out twice, so a late duplicate of an old call matches nothing. A head also names those who wrote
//! last: a gateway that does not know whether a call was done sends it once more, and finds itself there if it was. The
//! transitions of what was decided are kept with it and told once, when the outcome is known.

mod busy;
mod commit;
mod contents;
mod head;
mod heads;
mod known;
mod limits;
mod listed;
mod listing;
mod metrics;
mod needs;
mod placement;
mod round;
mod token;
mod writes;

use std::future::Future;
use std::sync::Arc;

pub use commit::Optimistic;
pub use head::{Head, Listing, StoredRow};
pub use known::{Claimable, Dead, Need};
pub use limits::Limits;
pub use listed::{ListedUser, list, read_listed, unlist};
pub use metrics::Metrics;
pub use token::{Token, TokenSource};
pub use writes::Write;

use super::StoreError;
use crate::model::forgetting::Eviction;
use crate::model::ids::{Content, UserId};
use crate::model::rewards::day::Day;
use crate::model::rewards::rewarding::Rewarding;
use crate::model::version::Version;

/// Keeps users' states, and writes under their tokens.
pub trait UserStore: Send + Sync + 'static {
    /// To be called for a group before anything is decided. False: none of it is rewarded this time.
    fn begin(&self, _rewards: &Rewarding) -> impl Future<Output = Result<bool, StoreError>> + Send {
        async { Ok(true) }
    }

    /// Reads what is needed of each user, in this order: the head is read before the rest or together with it. Answers
    /// in the order asked.
    fn load(&self, loads: &[Load]) -> impl Future<Output = Result<Vec<Loaded>, StoreError>> + Send;

    /// For each user: compares the token, and if it is the expected one writes all of it in one atomic step. Of one
    /// call each user is there once. Answers in the order asked.
    ///
    /// # Errors
    /// Any of it may have been done, now or later.
    fn apply(&self, applies: &[&Apply]) -> impl Future<Output = Result<Vec<Applied>, StoreError>> + Send;

    /// Removes the marks of these users up to a version, and has them due at that moment, milliseconds, if they are
    /// listed. No version: there is no mark to remove.
    fn put_off(&self, users: &[(UserId, Version)], due: u64) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// What is needed of one user.
#[derive(Clone, Debug)]
pub struct Load {
    pub user: UserId,
    pub needs: Vec<Need>,
}

/// What was found of one user; nothing where it was not asked for.
#[derive(Debug, Default)]
pub struct Loaded {
    /// Why it cannot be read, if it cannot: it is not what this program writes.
    pub unreadable: Option<String>,
    /// `Some(None)`: the user has none.
    pub head: Option<Option<Box<Head>>>,
    /// Rows outside the head; `None`: there is no such row.
    pub rows: Vec<(Content, Option<StoredRow>)>,
    /// How many contents there are, the one in the head included.
    pub contents: Option<u32>,
    /// The first to give way at the cap, in their order, as far as the timeline knows; and whether these are all.
    pub oldest: Option<(Vec<(Eviction, Content)>, bool)>,
    /// The newest with a record, outside the head and newest first; and whether these are all.
    pub newest: Option<(Vec<(u64, Content)>, bool)>,
    /// `rows` has all that there are outside the head.
    pub all: bool,
    /// Its rows are among `rows`.
    pub dead: Option<Dead>,
    pub claims: Vec<Claimable>,
    /// The rules that have claims, of the days whose claims may be kept.
    pub claim_rules: Option<Vec<(Day, Arc<str>)>>,
    /// The contents that are marked, whose rows are among `rows`.
    pub marked: Option<Marked>,
}

/// What was marked of a user to be carried to the history store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marked {
    pub contents: Vec<Content>,
    /// All contents count as marked.
    pub all: bool,
}

impl Marked {
    pub fn is_empty(&self) -> bool {
        self.contents.is_empty() && !self.all
    }
}

/// What is to be written of one user.
#[derive(Clone, Debug)]
pub struct Apply {
    pub user: UserId,
    /// The head that was decided on; `None`: there is none. Its token is what counts.
    pub expected: Option<Box<Head>>,
    /// `None`: nothing is written, only the token is compared.
    pub head: Option<Box<Head>>,
    /// In their order, before the head.
    pub writes: Vec<Write>,
    /// Other gateways have to hear of it.
    pub news: bool,
}

impl Apply {
    /// What the head there must begin with.
    pub fn expected_token(&self) -> Option<Token> {
        self.expected.as_ref().map(|head| head.token)
    }
}

/// What became of it.
#[derive(Debug)]
pub enum Applied {
    /// `elsewhere`: other gateways have subscribed to the user's changes.
    Done { elsewhere: bool },
    /// Another token is there, in this head; nothing was done.
    Refused(Option<Box<Head>>),
    /// A key of the user has another type, or the head cannot be read. The head is as it was.
    Unreadable(String),
    /// The outbox has no room for the claims; nothing was done.
    NoRoom,
}
