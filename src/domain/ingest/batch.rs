//! A group that is being committed.

use std::sync::Arc;

use tokio::time::Instant;

use super::coalesce::Entry;
use super::submit_queue::SubmitQueue;
use crate::commit_listener::CommittedChange;
use crate::rewards::judge::OpenRules;
use model::change::Change;
use storage::hot_store::Group;

/// A group, and the entries that wait for it.
pub struct Batch {
    pub entries: Vec<Entry>,
    /// The submit queues of the entries, in order, each with its number of entries.
    pub shares: Vec<(Arc<SubmitQueue>, usize)>,
    /// The open rules of each entry.
    pub asked: Vec<OpenRules>,
    /// The changes for listeners; empty before the answers.
    pub heard: Vec<CommittedChange>,
    pub group: Group,
    /// The start of the last attempt to commit the group.
    pub began: Instant,
}

/// The lists of a batch, emptied for the next one. To allocate such long lists anew would cost about 1 µs for each
/// beat, by a profile with rewards: the allocator walks over its free blocks of about that length.
#[derive(Default)]
pub struct Lists {
    pub entries: Vec<Entry>,
    pub asked: Vec<OpenRules>,
    pub changes: Vec<Change>,
    pub heard: Vec<CommittedChange>,
}
