//! Where messages go that are no packs, so that they hold up no others and can be looked at.

use super::source::RawPack;
use crate::storage::delivery::Receipt;

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
    /// Takes one message and does not wait for it: its receipt reports once. It may be there twice.
    fn put(&self, message: Quarantined);

    /// What is known to be wrong with it, though it may take messages; each in a few words for the operator.
    fn complaints(&self) -> Vec<String>;
}
