//! Notices that are stored, until what they say is published.
//!
//! ```text
//! commit ─ a notice, in the change's own step ─▶ stored ─ take: what is due ─▶ publisher
//!                                                   ◀──── remove ──────────── published
//! ```
//!
//! A taken notice stays stored until it is removed, and is taken again otherwise: no notice is lost with its publisher.
//! A change after the take leaves a notice of its own. So a publisher that reads a record after it took the notice
//! publishes all changes noticed until then.
//!
//! **Bounds.** Of one position at most one notice waits that is due at once, and one that is due later. A user whose
//! positions change all the time has only some that are due at once ([`UrgentRate`]). Forgettings are each told apart.

pub mod codec;
mod followed_now;
mod urgent_rate;

use std::sync::Arc;

pub use self::followed_now::FollowedNow;
pub use self::urgent_rate::UrgentRate;
use super::store_error::Answer;
use super::turn::Turn;
use model::notices::Notice;

/// A notice, and its key in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub notice: Notice,
    pub key: Arc<[u8]>,
}

/// The notices of a hot store. May be used from any thread.
pub trait Notices: Send + Sync + 'static {
    /// The changes that leave notices.
    fn followed(&self) -> &FollowedNow;

    /// Whether this process publishes: of all that share the store one has the turn, for some seconds from now. It asks
    /// again before each take.
    fn turn(&self) -> Answer<Turn>;

    /// Notices that are due at `now` (milliseconds of the server's clock), about the oldest first, and about `limit` at
    /// most. A position may come more than once.
    fn take(&self, now: u64, limit: usize) -> Answer<Vec<Taken>>;

    /// One that is not there any more is no error.
    fn remove(&self, taken: Vec<Taken>) -> Answer<()>;
}
