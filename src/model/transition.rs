//! The change of one record by a commit.

use super::ids::{Content, UserId};
use super::record::Record;

/// One change of a stored record. All effects after a commit are computed from outcomes and transitions only.
///
/// The transitions of one user and content are a chain, in the order of commits: `before` equals the `after` of the
/// previous one.
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
    /// A clear hides the record, and it was removed. The transition comes at the removal, not at the clear.
    Clear,
    /// The user was erased.
    Erase,
    /// The content gave way at the cap of contents per user.
    Cap,
    /// The record has outlived the retention, and was removed.
    Expiry,
    /// The record has left the hot store, and stays in the history store.
    Trim,
}
