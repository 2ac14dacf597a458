//! What a conversation knows of its client may change: the device, the delay of acks, the token.

use std::time::{Duration, Instant};

use super::Conversation;
use crate::edge::connection::close::CloseReason;
use crate::edge::context::ConnectionContext;
use crate::edge::protocol::frame::{Answer, Hello};

impl Conversation {
    pub(super) fn hello(&mut self, seq: u32, hello: Hello, now: Instant) {
        if hello.token.as_ref().is_some_and(|token| self.renew(token.expose(), now).is_none()) {
            return self.replies.unauthorized(seq, "hello.token");
        }
        if let Some(device) = hello.device {
            self.device = device.into();
            self.inbox().renamed(self.device.clone());
        }
        if let (Some(asked), Some(delay)) = (hello.ack_delay, &mut self.ack_delay) {
            *delay = capped(asked, &self.context);
            // An ack says all that is before it, so none may wait for longer than the next.
            self.beats.due = self.beats.due.map(|due| due.min(now + *delay));
        }
        self.succeed(seq, Answer::Done);
    }

    pub(super) fn token(&mut self, seq: u32, token: &str, now: Instant) {
        match self.renew(token, now) {
            Some(expires) => self.succeed(seq, Answer::Token { expires }),
            None => self.replies.unauthorized(seq, "token.token"),
        }
    }

    /// Takes over the end of a token that is good and of the same user; returns it (milliseconds since 1970).
    fn renew(&mut self, token: &str, now: Instant) -> Option<u64> {
        let identity = self.context.authenticator.identify(token).ok()?;
        let wall = self.context.clock.wall();
        // A token that has expired already must not close a healthy socket.
        if identity.user != self.inbox().user || identity.expires_ms <= wall {
            return None;
        }
        if !self.context.authenticator.renew(&self.registration, &identity) {
            self.end_now(CloseReason::Kicked);
            return None;
        }
        self.lease.renew(&identity, now, wall);
        Some(identity.expires_ms)
    }
}

/// As late as asked (milliseconds), and as the settings allow.
pub fn capped(ack_delay: u64, context: &ConnectionContext) -> Duration {
    Duration::from_millis(ack_delay).min(context.limits.ack_delay)
}
