//! Where packs go from the hot store, on their way to the history store.

pub mod codec;
pub mod kafka;
#[cfg(test)]
pub mod memory;
pub mod quarantine;
pub mod source;
mod wire;

use super::delivery::Receipt;
use crate::model::shard::Region;

/// The longest message that a bus takes.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Takes packs and keeps them until they are in the history store.
///
/// All methods may be called from any thread.
pub trait HistoryBus: Send + Sync + 'static {
    /// Takes one message and does not wait for it: its receipt reports once, whenever its delivery is known, which may
    /// take long while the bus or a part of it is away. Messages are published in any order. One may be there twice.
    fn publish(&self, message: PackMessage);

    /// What is known to be wrong with it, though it may take messages; each in a few words for the operator.
    fn complaints(&self) -> Vec<String>;
}

/// A pack as it is handed over.
#[derive(Debug)]
pub struct PackMessage {
    pub region: Region,
    /// By [`codec::encode`]; at most [`MESSAGE_BYTES_MAX`].
    pub bytes: Vec<u8>,
    pub receipt: Receipt,
}
