//! Several gateways share one hot store: each decides by itself, and the store accepts a decision only if its user has
//! not changed since.
//!
//! ```text
//! group ─▶ load what the cache does not know ─▶ decide, user by user ─▶ apply under each user's token ─▶ outcomes
//!              ▲                                                            │ refused: another gateway was first
//!              └────────────────────────── decide again ◀───────────────────┘
//! ```
//!
//! This is optimistic concurrency control (Kung and Robinson, "On optimistic methods for concurrency control", 1981)
//! with one version for the whole state of a user: the [`Token`] in the user's [`Head`]. Every write renews it, and no
//! token is ever given out twice, so a late duplicate of an old call matches nothing. A head also names the last
//! writers: a gateway that does not know the outcome of a call sends it again, and finds itself among them if the call
//! was done. The transitions of a decision are kept with it, and returned once, when the outcome is known.

mod busy;
mod cold;
mod commit;
mod contents;
mod counted;
mod head;
mod heads;
mod known;
mod limits;
mod listed;
mod listing;
mod make_head;
mod metrics;
mod needs;
mod noticing;
mod placement;
mod round;
mod token;
mod trim;
mod uncarried;
mod writes;

use std::future::Future;
use std::sync::Arc;

pub use commit::Optimistic;
pub use counted::count;
pub use head::{Head, Listing, StoredRow};
pub use known::{Claimable, Dead, Need};
pub use limits::Limits;
pub use listed::{ListedUser, Relist, list, read_at_once, read_listed, read_whole, unlist};
pub use make_head::make_head;
pub use metrics::Metrics;
pub use token::{Token, TokenSource};
pub use trim::{Trimmed, trim};
pub use uncarried::UNCARRIED_AGAIN_MS;
pub use writes::Write;

use super::StoreError;
use super::cold_filter::ColdFilter;
use model::counters::Generations;
use model::forgetting::Eviction;
use model::ids::{Content, UserId};
use model::notices::Followed;
use model::rewards::day::Day;
use model::rewards::rewarding::Rewarding;
use model::version::Version;

/// Keeps users' states, and writes under their tokens.
pub trait UserStore: Send + Sync + 'static {
    /// Called for a group before anything is decided. False: the group gets no rewards.
    fn begin(&self, _rewards: &Rewarding) -> impl Future<Output = Result<bool, StoreError>> + Send {
        async { Ok(true) }
    }

    /// Reads the needed state of each user. The head is read before the rest or together with it. Answers in the order
    /// asked.
    fn load(&self, loads: &[Load]) -> impl Future<Output = Result<Vec<Loaded>, StoreError>> + Send;

    /// For each user: compares the token, and if it is the expected one writes everything in one atomic step. A call
    /// has each user once. Answers in the order asked.
    ///
    /// # Errors
    /// Any of the writes may have been done, now or later.
    fn apply(&self, applies: &[&Apply]) -> impl Future<Output = Result<Vec<Applied>, StoreError>> + Send;

    /// The generations of counters, as far as this process knows. Commits add to these.
    fn generations(&self) -> Arc<Generations> {
        Arc::default()
    }

    /// The changes that leave notices.
    fn followed(&self) -> Followed {
        Followed::NONE
    }

    /// Reads the generations anew: a head belongs to a newer one than is known.
    fn read_generations(&self) -> impl Future<Output = Result<(), StoreError>> + Send {
        async { Ok(()) }
    }

    /// Removes the marks of these users up to a version, and makes listed users due at that moment, milliseconds.
    /// Version [`Version::NONE`]: no mark to remove.
    fn put_off(&self, users: &[(UserId, Version)], due: u64) -> impl Future<Output = Result<(), StoreError>> + Send;
}

/// The needs of one user.
#[derive(Clone, Debug)]
pub struct Load {
    pub user: UserId,
    pub needs: Vec<Need>,
}

/// The result of a load for one user; empty where nothing was asked.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The reason why the user cannot be read, if so: this program has not written it.
    pub unreadable: Option<String>,
    /// `Some(None)`: the user has no head.
    pub head: Option<Option<Box<Head>>>,
    /// Rows outside the head; `None`: no such row.
    pub rows: Vec<(Content, Option<StoredRow>)>,
    /// The number of contents, the one in the head included.
    pub contents: Option<u32>,
    /// The first contents to be evicted at the cap, in order, by the timeline; and whether these are all.
    pub oldest: Option<(Vec<(Eviction, Content)>, bool)>,
    /// The newest contents with a record, outside the head and newest first; and whether these are all.
    pub newest: Option<(Vec<(u64, Content)>, bool)>,
    /// `rows` has all rows outside the head.
    pub all: bool,
    /// Expired and cleared contents, whose rows are among `rows`.
    pub dead: Option<Dead>,
    pub claims: Vec<Claimable>,
    /// The rules that have claims, on the days whose claims may be kept.
    pub claim_rules: Option<Vec<(Day, Arc<str>)>>,
    /// The marked contents, whose rows are among `rows`.
    pub marked: Option<Marked>,
    /// `Some(None)`: the user has no filter, so each content may be cold.
    pub cold_filter: Option<Option<ColdFilter>>,
}

/// Contents of a user that are marked to be carried to the history store.
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

/// The writes for one user.
#[derive(Clone, Debug)]
pub struct Apply {
    pub user: UserId,
    /// The head that was decided on; `None`: no head. Only its token is compared.
    pub expected: Option<Box<Head>>,
    /// `None`: nothing is written, only the token is compared.
    pub head: Option<Box<Head>>,
    /// Writes before the head, in order.
    pub writes: Vec<Write>,
    /// Other gateways have to be told of the change.
    pub news: bool,
    /// The generations of counters that it was decided for. If the store has others, it is refused.
    pub generations: Arc<Generations>,
}

impl Apply {
    /// The token that the stored head must begin with.
    pub fn expected_token(&self) -> Option<Token> {
        self.expected.as_ref().map(|head| head.token)
    }
}

/// The result of an [`Apply`].
#[derive(Debug)]
pub enum Applied {
    /// `elsewhere`: other gateways have subscribed to the user's changes.
    Done { elsewhere: bool },
    /// The stored head has another token; nothing was done.
    Refused(Option<Box<Head>>),
    /// A key of the user has another type, or the head cannot be read. The head is unchanged.
    Unreadable(String),
    /// The outbox has no room for the claims; nothing was done.
    NoRoom,
}
