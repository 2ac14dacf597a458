//! The outbox: entries whose events are not published yet.
//!
//! An entry is written in one atomic step with the change that caused it, and removed when its event is on the bus. So
//! each entry has at least one event, whichever process dies in between.

pub mod codec;

use crate::store_error::Answer;
use model::outbox_entry::OutboxEntry;

/// An entry's number in the outbox: it grows, and is not used twice.
pub type OutboxNumber = u64;

/// The outbox of a hot store. May be used from any thread.
pub trait Outbox: Send + Sync + 'static {
    /// The oldest entries after `after` (0 = from the first on), at most `limit`, in their order.
    fn read(&self, after: OutboxNumber, limit: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>>;

    /// Removes these entries, wherever they are in the outbox; one that is not there any more is no error. After an
    /// error all, some or none are gone, and the same removal may be tried again. A removal may be lost with the
    /// machine: then the entries are there again.
    fn remove(&self, numbers: Vec<OutboxNumber>) -> Answer<()>;

    /// Entries that are not removed yet, of all gateways.
    fn len(&self) -> u64;

    /// The entries among them that this process has to publish.
    fn own(&self) -> u64 {
        self.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
