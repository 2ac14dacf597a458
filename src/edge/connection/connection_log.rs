//! The log lines of one connection, so that a user's complaint can be followed.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::close;
use super::conversation::Conversation;
use super::end::End;
use crate::context::ConnectionContext;

/// The target of these lines, for the filter of the log.
pub const TARGET: &str = module_path!();

/// How long the first line waits for a frame of the client. With the token in the upgrade, the device is named in a `hello`
/// after the welcome.
const DEVICE_WAIT: Duration = Duration::from_secs(1);

/// From the welcome to the end.
pub struct ConnectionLog {
    /// The address of the client, as far as proxies name it.
    address: IpAddr,
    since: Instant,
    /// Whether the first line is still to come.
    waits: bool,
}

impl ConnectionLog {
    pub fn new(address: IpAddr, since: Instant) -> Self {
        ConnectionLog { address, since, waits: true }
    }

    /// Until when the first line waits, if it does.
    pub fn deadline(&self) -> Option<Instant> {
        self.waits.then(|| self.since + DEVICE_WAIT)
    }

    /// Writes the first line as soon as the client has sent a frame, or has sent none for too long.
    pub fn proceed(&mut self, conversation: &Conversation, context: &ConnectionContext, now: Instant) {
        if self.waits && (conversation.has_received() || now >= self.since + DEVICE_WAIT) {
            self.connected(conversation, context);
        }
    }

    fn connected(&mut self, conversation: &Conversation, context: &ConnectionContext) {
        self.waits = false;
        tracing::info!(
            event = "connected",
            connection = %conversation.connection(),
            user = %context.mid_hash.of(conversation.user()),
            address = %self.address,
            device = conversation.device(),
            "connected"
        );
    }

    pub fn disconnected(&mut self, conversation: &Conversation, context: &ConnectionContext, end: &End) {
        if self.waits {
            self.connected(conversation, context);
        }
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
