//! The quarantine of messages that are no packs, so that they delay no others and can be examined.

use super::source::RawPack;
use crate::delivery::Receipt;

/// A message that cannot be written to the history store.
#[derive(Debug)]
pub struct Quarantined {
    pub pack: RawPack,
    /// Why not, for the operator.
    pub reason: String,
    pub receipt: Receipt,
}

/// Keeps messages as they were. All methods may be called from any thread.
pub trait Quarantine: Send + Sync + 'static {
    /// Takes one message without waiting: its receipt reports once. A message may be stored twice.
    fn put(&self, message: Quarantined);

    /// Known problems of the quarantine, which may take messages nevertheless; each in a few words for the operator.
    fn complaints(&self) -> Vec<String>;
}
