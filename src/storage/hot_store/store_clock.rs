//! The clock of the store.

use std::future::ready;

use super::Answer;

/// By it a gateway's clock is measured, where gateways share a store.
pub trait StoreClock: Send + Sync + 'static {
    /// Milliseconds since 1970; `None` if the store has no clock of its own.
    fn time(&self) -> Answer<Option<u64>> {
        Box::pin(ready(Ok(None)))
    }
}
