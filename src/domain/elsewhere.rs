//! Views and counters of a gateway without a store: history services answer for it.

use std::sync::Arc;

use super::store_reads::Unavailable;
use storage::hot_store::forwarding::Forwarding;

pub use storage::gateway_messages::forwarded::{By, Forwarded, ForwardedAnswer};

pub struct Elsewhere {
    pub services: Arc<dyn Forwarding>,
    /// Whether totals of views are readable without a token here.
    pub views_are_public: bool,
}

impl Elsewhere {
    pub async fn ask(&self, request: Forwarded) -> Result<ForwardedAnswer, Unavailable> {
        self.services.forward(request).await.map_err(|error| {
            tracing::warn!(event = "forward_failed", %error, "no history service has answered a request about views or counters");
            Unavailable
        })
    }
}
