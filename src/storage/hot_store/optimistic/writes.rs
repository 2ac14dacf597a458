//! What a decision comes to beside the head.

use std::sync::Arc;

use super::StoredRow;
use crate::model::ids::Content;
use crate::model::rewards::claim::Claim;
use crate::model::rewards::day::Day;
use crate::model::version::Version;

/// One write under a user's token. Each sets what a repetition would set again.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// The row of a content that is not in the head, and its place in the timeline.
    Put {
        content: Content,
        row: StoredRow,
    },
    /// The content came into the head at this moment: its row is kept there alone, and the timeline keeps its place.
    /// `stored`: there was a row outside.
    Enter {
        content: Content,
        at: u64,
        stored: bool,
    },
    Remove {
        content: Content,
    },
    RemoveAll,
    /// The claim with its entry in the outbox. `exact`: as [`Claimable`](super::Claimable) says. `kept`: no erasure has
    /// taken the claim away since, and only the event is left to publish.
    Claim {
        claim: Claim,
        exact: bool,
        kept: bool,
    },
    RemoveClaims {
        rules: Vec<(Day, Arc<str>)>,
    },
    /// When the user has to be looked at for what the retention and clears leave, milliseconds; unless `exact`, no
    /// later than that.
    LookAt {
        at: u64,
        exact: bool,
    },
    /// The user's changes are to be carried to the history store at this moment, milliseconds, if it is not sooner.
    List {
        due: u64,
    },
    /// The content has changed outside the head, under the token of this version; `None`: all contents count as
    /// changed.
    Mark {
        content: Option<Content>,
        version: Version,
    },
    /// All was carried: the user leaves the list, with all marks.
    Unlist,
    /// Nothing is left to keep: the head goes, with whatever else has the user's name.
    RemoveUser,
}
