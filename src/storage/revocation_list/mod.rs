//! The durable list of revocations.

pub mod file;

use model::revocation::{Revocation, Revoked};

/// Revocations kept at one time, each of some 100 bytes, at most 400. One more is refused, since dropping another would
/// accept a revoked token.
pub const REVOCATIONS_MAX: usize = 65_536;

/// Incremented with every change of a list.
pub type Edition = u64;

/// A list of at most [`REVOCATIONS_MAX`] that changes when an operator says so. Several processes may share one, each
/// adding and removing what is its own: none undoes what another has done.
///
/// A change is *atomic* and *durable*: once answered it survives the loss of the process and of the machine.
/// *Repeatable*; after an error it may have been done or not. Calls block, and may be made from any thread but one that
/// drives a runtime.
pub trait RevocationList: Send + Sync + 'static {
    /// All that is in it, the expired perhaps as well; `None` if it is still the edition that is `known`.
    fn load(&self, known: Option<Edition>) -> Result<Option<(Edition, Vec<Revocation>)>, ListError>;

    /// Adds one, unless there is one of the same token or user with a later `at_ms`. Those that hold no longer at
    /// `now_ms` make room. Says which stands now.
    fn add(&self, revocation: &Revocation, now_ms: u64) -> Result<Revocation, ListError>;

    /// Removes a revocation, unless it was made after `upto_ms`: a request that arrives late removes no later one.
    /// Succeeds also if there was none.
    fn remove(&self, what: &Revoked, upto_ms: u64) -> Result<(), ListError>;
}

/// Nothing is known to have been done.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("{REVOCATIONS_MAX} revocations are the limit; remove some, or limit the lifetime of tokens")]
    Full,
    /// It cannot be read or written.
    #[error("the revocation list {place} {why}")]
    Broken { place: String, why: String },
}
