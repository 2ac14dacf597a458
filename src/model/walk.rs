//! A walk through a user's records, for an export: in the order of their contents, which no change moves. So a record that
//! is there from its beginning to its end is met once, whatever is played meanwhile.

use super::cold::ColdMark;
use super::ids::Content;
use super::record::Record;

/// The next records of a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkRequest {
    /// At least 1.
    pub limit: usize,
    /// Only records of later contents.
    pub after: Option<Content>,
    /// Empty = all.
    pub kinds: Vec<u16>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Walked {
    /// May be fewer than the limit, or none, also while there is more.
    pub records: Vec<Record>,
    /// After which content the walk goes on; `None` = it has ended.
    pub next: Option<Content>,
    /// Records of the user may be in the history store only.
    pub cold: Option<ColdMark>,
    /// The history store is away: records may be missing.
    pub partial: bool,
}

impl WalkRequest {
    /// Whether the content is on the way, and still to come.
    pub fn wants(&self, content: Content) -> bool {
        self.after.is_none_or(|after| content > after) && (self.kinds.is_empty() || self.kinds.contains(&content.kind))
    }
}
