//! Where packs come back from the bus, to be written to the history store.

use std::collections::BTreeMap;

use futures_util::future::BoxFuture;

/// Where a message is, for the one who has read it: when its partition was given to another reader meanwhile, the place
/// is good for nothing, and does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub partition: i32,
    pub offset: i64,
    /// Grows each time that a partition is given to this reader.
    pub term: u64,
}

/// A message as it came. It may not be a pack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawPack {
    pub place: Place,
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

    /// These need not be read again. A message that is committed before an older one of its partition waits for that
    /// one.
    fn commit(&self, places: &[Place]);

    /// Messages that are on the bus and not committed, of each partition that is read here, as they were counted last.
    fn lag(&self) -> BTreeMap<i32, u64>;

    /// What is known to be wrong; each in a few words for the operator.
    fn complaints(&self) -> Vec<String>;
}
