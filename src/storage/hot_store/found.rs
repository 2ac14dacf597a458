//! The answer to a read of single contents.

use model::cold::ColdMark;
use model::record::Record;

/// The live records of some contents of a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// In the order asked; `None`: no record here.
    pub records: Vec<Option<Record>>,
    /// Some of them may be in the history store only.
    pub cold: Option<FoundCold>,
    /// The history store is away: an empty slot may be a record that could not be read just now.
    pub partial: bool,
}

/// Records that the hot store does not have any more, if they exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundCold {
    pub mark: ColdMark,
    /// The indices of their empty slots.
    pub indices: Vec<usize>,
    /// Older records are not live, server-clock milliseconds.
    pub oldest_live: u64,
}

impl From<Vec<Option<Record>>> for Found {
    fn from(records: Vec<Option<Record>>) -> Self {
        Found { records, ..Found::default() }
    }
}
