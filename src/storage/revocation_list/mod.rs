//! Where revocations are kept over restarts.

pub mod file;

use crate::model::revocation::Revocation;

/// Keeps one list, whole: it is small, changes when an operator says so, and is read once, at the start.
///
/// Calls block, and may be made from any thread; one at a time saves.
pub trait RevocationList: Send + Sync + 'static {
    /// What was saved last; nothing if nothing ever was.
    fn load(&self) -> Result<Vec<Revocation>, ListError>;

    /// *Atomic*: after a kill the old list is there, or the new one. *Durable*: once answered it survives the loss of
    /// the process and of the machine. *Repeatable*. After an error either list may be there.
    fn save(&self, revocations: &[Revocation]) -> Result<(), ListError>;
}

/// The list cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("the revocation list {place} {why}")]
pub struct ListError {
    pub place: String,
    pub why: String,
}
