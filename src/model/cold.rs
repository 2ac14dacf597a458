//! Contents whose rows have left the hot store, or were lost with it, and are only in the history store.

use super::forgetting::{ContentRow, Tombstone};
use super::ids::Content;
use super::pack::PackedRow;
use super::version::Version;

/// Tells that rows of a user have left the hot store. It is void once its floor is cleared or has expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ColdMark {
    /// No row that has left was newer, server-clock milliseconds.
    pub floor: u64,
    /// The version of the token under which rows left last. What was read of the history store under this mark holds as
    /// long as the mark stays: a content that changes has a row in the hot store.
    pub trimmed: Version,
}

/// A change that cannot be decided before these contents are read from the history store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColdContents {
    pub mark: ColdMark,
    pub contents: Vec<Content>,
}

/// The contents as they were found in the history store, under the mark.
#[derive(Clone, Debug, PartialEq)]
pub struct ColdRows {
    pub mark: ColdMark,
    /// Each content that was asked for; `None`: no row.
    pub rows: Vec<(Content, Option<ContentRow>)>,
}

impl ColdMark {
    /// A rebuilt hot store has not read the user yet, so any content may be in the history store.
    pub const UNREAD: Self = ColdMark { floor: u64::MAX, trimmed: Version::NONE };

    /// Whether nothing that has left the hot store can be returned by a read any more.
    pub fn is_void(&self, watermark: u64, horizon: u64) -> bool {
        self.floor <= watermark || self.floor < horizon
    }
}

impl ColdContents {
    /// The user has to be read before anything is decided.
    pub fn of_unread() -> Self {
        ColdContents { mark: ColdMark::UNREAD, contents: Vec::new() }
    }
}

impl ContentRow {
    /// The row as the history store has it.
    pub fn of_packed(row: &PackedRow) -> Self {
        let PackedRow { content, record, tombstone, version } = row;
        // The version is that of the newer one of both.
        let of_tombstone = if record.is_some() { Version::last_of(*tombstone) } else { *version };
        let tombstone = Tombstone { at: *tombstone, version: of_tombstone.min(*version) };
        ContentRow {
            record: record.as_ref().map(|record| record.record(*content, *version)),
            tombstone: (tombstone.at > 0).then_some(tombstone),
        }
    }
}
