//! A group on its way.

use std::sync::Arc;

use tokio::time::Instant;

use super::coalesce::Entry;
use super::lane::Lane;
use crate::domain::rewards::judge::Asked;
use crate::model::change::Change;
use crate::storage::hot_store::Group;

/// A group and those who wait for it.
pub struct Batch {
    pub entries: Vec<Entry>,
    /// How many of the entries are whose, in their order.
    pub shares: Vec<(Arc<Lane>, usize)>,
    /// Of each entry.
    pub asked: Vec<Asked>,
    pub group: Group,
    /// The last attempt to commit it.
    pub began: Instant,
}

/// What a batch is made of, empty again. New ones are so long that the allocator walks over its free blocks of about that
/// length for each: by a profile with rewards, about 1 µs for each beat.
#[derive(Default)]
pub struct Lists {
    pub entries: Vec<Entry>,
    pub asked: Vec<Asked>,
    pub changes: Vec<Change>,
}
