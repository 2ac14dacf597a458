//! The source of events: reads the bus, for consumers inside Heartline.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::part::{Offsets, Part};
use super::{BusError, Offset};
use crate::store_error::Answer;

/// Events of one part, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartEvents {
    pub part: Part,
    /// Each as the text of a JSON object, with its offset. What cannot be read as an event is left out.
    pub events: Vec<(Offset, Arc<str>)>,
    /// All up to this offset, included, was read.
    pub to: Offset,
    /// There was no more when this was read.
    pub is_end: bool,
}

/// The events that the bus still has, whether they were read or not. May be used from any thread.
pub trait EventArchive: Send + Sync + 'static {
    /// Whether the part belongs to what is read here.
    fn has(&self, part: &Part) -> bool;

    /// The offsets of the newest events, of all parts of the bus, whoever reads them; 0 = there was none.
    fn ends(&self) -> BoxFuture<'_, Result<Offsets, BusError>>;

    /// The offsets of the last events before this time (milliseconds since 1970, as the bus has dated them), of all
    /// parts; 0 = all that the bus has are later.
    fn before(&self, time: u64) -> BoxFuture<'_, Result<Offsets, BusError>>;

    /// Events of a part after `after`, at most `limit` and not many more than 1 MiB, whoever reads the part.
    fn read(&self, part: Part, after: Offset, limit: usize) -> BoxFuture<'_, Result<PartEvents, BusError>>;
}

/// Reads events, and shares the parts of the bus with the other readers of its group.
///
/// All methods may be called from any thread.
pub trait EventSource: EventArchive {
    /// The next events of some part; waits until there are some. `None`: there are none yet, and the bus can be read.
    /// Those of a part come in their order, and the next of it only after these were committed. They come again, here or
    /// to another reader, if the reader ends before, or if the part is given to another reader; also after a while, if the
    /// bus has failed.
    fn next(&self) -> BoxFuture<'_, Result<Option<PartEvents>, BusError>>;

    /// Events of another part, if some were read together with those that [`next`](Self::next) gave. For them, too, all
    /// of it holds.
    fn more(&self) -> Option<PartEvents> {
        None
    }

    /// Commits the events of a part up to this offset: they are not read again once the bus knows it, which may take
    /// some seconds. Does nothing if the part belongs to another reader now.
    fn commit(&self, part: Part, offset: Offset) -> BoxFuture<'_, Result<(), BusError>>;

    /// Events that are on the bus and not committed, in the parts that are read here.
    fn lag(&self) -> u64;

    /// A problem that an operator must know, in a few words.
    fn degraded(&self) -> Option<String> {
        None
    }
}

/// Keeps how far a reader has come in each part, for a bus that does not keep it itself.
pub trait Cursors: Send + Sync + 'static {
    /// 0 = nothing was read yet.
    fn cursor(&self, part: Part) -> Answer<Offset>;

    /// Durable when answered. A lower offset than the present one changes nothing.
    fn move_cursor(&self, part: Part, to: Offset) -> Answer<()>;
}

/// A message of a part that was read. By it a reader finds out whether the part still is the same log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogMark {
    pub offset: Offset,
    pub hash: u64,
}

/// Keeps one message of each part, for a bus whose parts may be replaced.
pub trait Marks: Cursors {
    fn mark(&self, part: Part) -> Answer<Option<LogMark>>;

    /// Durable when answered.
    fn keep_mark(&self, part: Part, mark: LogMark) -> Answer<()>;
}
