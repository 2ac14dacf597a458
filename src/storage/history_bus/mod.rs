//! The history bus: carries packs from the hot store to the history store.

pub mod codec;
pub mod quarantine;
pub mod source;
mod wire;

use super::delivery::Receipt;
use model::shard::Region;

/// The longest message that a bus takes.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Takes packs and keeps them until they are in the history store.
///
/// All methods may be called from any thread.
pub trait HistoryBus: Send + Sync + 'static {
    /// Takes one message without waiting: its receipt reports once, when its delivery is known. That may take long
    /// while the bus or a part of it is away. Messages are published in any order, and a message may be published
    /// twice.
    fn publish(&self, message: PackMessage);

    /// Known problems of the bus, which may take messages nevertheless; each in a few words for the operator.
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
