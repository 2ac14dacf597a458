//! Requests about views and counters that a history service answers in place of a gateway without a store.

use super::Answer;
use crate::gateway_messages::forwarded::{Forwarded, ForwardedAnswer};

/// Asks where the store is.
pub trait Forwarding: Send + Sync + 'static {
    fn forward(&self, request: Forwarded) -> Answer<ForwardedAnswer>;
}
