//! The log lines of one connection, so that a user's complaint can be followed.

use std::net::IpAddr;
use std::time::Instant;

use super::close;
use super::conversation::Conversation;
use super::end::End;
use crate::edge::context::ConnectionContext;

/// What these lines are filtered by.
pub const TARGET: &str = module_path!();

/// From the welcome to the end.
pub struct ConnectionLog {
    /// Of the client, as far as proxies name it.
    address: IpAddr,
    since: Instant,
}

impl ConnectionLog {
    pub fn connected(conversation: &Conversation, context: &ConnectionContext, address: IpAddr, now: Instant) -> Self {
        tracing::info!(
            event = "connected",
            connection = %conversation.connection(),
            user = %context.mid_hash.of(conversation.user()),
            %address,
            device = conversation.device(),
            "connected"
        );
        ConnectionLog { address, since: now }
    }

    pub fn disconnected(&self, conversation: &Conversation, context: &ConnectionContext, end: &End) {
        let (code, closed_by) = match end {
            End::Close(reason) => (reason.code_and_text().0, "gateway"),
            End::ClosedByClient(code) => (*code, "client"),
            End::Lost => (close::LOST, "network"),
        };
        tracing::info!(
            event = "disconnected",
            connection = %conversation.connection(),
            user = %context.mid_hash.of(conversation.user()),
            address = %self.address,
            device = conversation.device(),
            code,
            reason = close::word(code),
            closed_by,
            duration_seconds = self.since.elapsed().as_millis() as f64 / 1000.0,
            "disconnected"
        );
    }
}
