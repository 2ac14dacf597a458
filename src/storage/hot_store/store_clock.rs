//! The clock of the store.

use std::future::ready;

use super::Answer;

/// The clock of the store, against which gateways that share a store check their own.
pub trait StoreClock: Send + Sync + 'static {
    /// Milliseconds since 1970; `None` if the store has no clock of its own.
    fn time(&self) -> Answer<Option<u64>> {
        Box::pin(ready(Ok(None)))
    }
}
