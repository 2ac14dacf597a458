//! The source of packs: reads them from the bus for the history store.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

/// Names a message to its reader. After the partition was assigned to another reader, a commit of the message has no
/// effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageRef {
    pub partition: i32,
    pub offset: i64,
    /// Incremented each time that a partition is assigned to this reader.
    pub term: u64,
}

/// A message as it came. It may not be a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPack {
    pub message_ref: MessageRef,
    /// Empty = it has none.
    pub key: Vec<u8>,
    pub bytes: Vec<u8>,
}

/// Reads packs, and shares their partitions with the other readers of its group.
///
/// All methods may be called from any thread.
pub trait PackSource: Send + Sync + 'static {
    /// The next messages, those of a partition in their order: not many more bytes than these, but at least one
    /// message. Waits until there is one. A message comes again, here or to another reader, when its partition is given
    /// to another reader or its reader ends before it is committed.
    fn next(&self, bytes_max: usize) -> BoxFuture<'_, Vec<RawPack>>;

    /// Commits messages, so that they are not read again. A commit of a message takes effect once all older messages of
    /// its partition are committed, too.
    fn commit(&self, message_refs: &[MessageRef]);

    /// Messages that are on the bus and not committed, of each partition that is read here, as they were counted last.
    fn lag(&self) -> BTreeMap<i32, u64>;

    /// Known faults, each in a few words for the operator.
    fn complaints(&self) -> Vec<String>;
}
