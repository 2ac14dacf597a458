//! The writes of a decision beside the head.

use std::sync::Arc;

use super::StoredRow;
use model::counters::Deltas;
use model::ids::Content;
use model::notices::Noticed;
use model::rewards::claim::{Claim, ClaimKey};
use model::rewards::day::Day;
use model::version::Version;

/// One write under a user's token. Each write is idempotent, except a [view](Write::View) and a
/// [count](Write::Count).
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// The row of a content that is not in the head, and its place in the timeline.
    Put {
        content: Content,
        row: StoredRow,
    },
    /// The content came into the head at this moment: its row is kept only there, and the timeline keeps its place.
    /// `stored`: its row was stored outside the head before.
    Enter {
        content: Content,
        at: u64,
        stored: bool,
    },
    Remove {
        content: Content,
    },
    RemoveAll,
    /// The claim with its entry in the outbox. `exact`: see [`Claimable`](super::Claimable). `kept`: false if an
    /// erasure later in the group has removed the claim, so that only its event is left to publish.
    Claim {
        claim: Claim,
        exact: bool,
        kept: bool,
    },
    /// The claim of a view, and the view itself: it adds one to the claim's content and day. The view is added after
    /// the head, where no repetition of the writes comes. `at`: when it was made, milliseconds; `kept`: as for a claim.
    View {
        key: ClaimKey,
        at: u64,
        kept: bool,
    },
    /// Amounts to add to a generation of counters. They are added after the head, where no repetition of the writes
    /// comes. `at`: milliseconds.
    Count {
        generation: u32,
        deltas: Deltas,
        at: u64,
    },
    /// The notice is due at this moment, milliseconds, unless it is due earlier.
    Notice {
        noticed: Noticed,
        due: u64,
    },
    RemoveClaims {
        rules: Vec<(Day, Arc<str>)>,
    },
    /// The time of the next look at the user for expired and cleared rows, milliseconds; unless `exact`, no later than
    /// that.
    LookAt {
        at: u64,
        exact: bool,
    },
    /// The user's changes are due to be carried to the history store at this moment, milliseconds, unless they are due
    /// earlier.
    List {
        due: u64,
    },
    /// The content has changed outside the head, under the token of this version; `None`: all contents count as
    /// changed.
    Mark {
        content: Option<Content>,
        version: Version,
    },
    /// The contents that may be cold, as the bytes of a [`ColdFilter`](crate::hot_store::cold_filter::ColdFilter);
    /// `None`: there is no filter any more.
    ColdFilter {
        filter: Option<Arc<[u8]>>,
    },
    /// All changes were carried: the user leaves the list, with all marks.
    Unlist,
    /// The user has no data: the head is removed, with all other keys of the user.
    RemoveUser,
}
