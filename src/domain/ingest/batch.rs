//! A group on its way.

use std::sync::Arc;

use tokio::time::Instant;

use super::coalesce::Entry;
use super::submit_queue::SubmitQueue;
use crate::domain::commit_listener::CommittedChange;
use crate::domain::rewards::judge::OpenRules;
use crate::model::change::Change;
use crate::storage::hot_store::Group;

/// A group, and the entries that wait for it.
pub struct Batch {
    pub entries: Vec<Entry>,
    /// How many of the entries came from which submit queue, in their order.
    pub shares: Vec<(Arc<SubmitQueue>, usize)>,
    /// Of each entry.
    pub asked: Vec<OpenRules>,
    /// For those of its changes that listeners will hear of; empty until then.
    pub heard: Vec<CommittedChange>,
    pub group: Group,
    /// The last attempt to commit it.
    pub began: Instant,
}

/// What a batch is made of, empty again. New ones are so long that the allocator walks over its free blocks of about
/// that length for each: by a profile with rewards, about 1 µs for each beat.
#[derive(Default)]
pub struct Lists {
    pub entries: Vec<Entry>,
    pub asked: Vec<OpenRules>,
    pub changes: Vec<Change>,
    pub heard: Vec<CommittedChange>,
}
