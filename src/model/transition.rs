//! What a commit did to one record.

use super::ids::{Content, UserId};
use super::record::Record;

/// One change of a stored record. What follows a commit is computed from outcomes and transitions, and from nothing
/// else.
///
/// Those of one user and content are a chain, in the order in which they were committed: `before` is what the one
/// before it left in `after`.
#[derive(Clone, Debug, PartialEq)]
pub struct Transition {
    pub user: UserId,
    pub content: Content,
    /// As it was *stored*: a cleared or expired record that was not removed yet is here, though no read returns it.
    pub before: Option<Record>,
    /// `None`: it was removed.
    pub after: Option<Record>,
    pub cause: Cause,
}

impl Transition {
    /// The record was removed.
    pub fn gone(user: UserId, record: Record, cause: Cause) -> Self {
        Transition { user, content: record.content, before: Some(record), after: None, cause }
    }
}

/// Why a record changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A beat was written.
    Beat,
    /// The content was deleted.
    Delete,
    /// A clear hides the record, and it was removed. It is told when the record goes, not when it is hidden.
    Clear,
    /// The user was erased.
    Erase,
    /// The content gave way at the cap of contents per user.
    Cap,
    /// The record has outlived the retention, and was removed.
    Expiry,
}
