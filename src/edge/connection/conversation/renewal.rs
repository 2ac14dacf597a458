//! Changes of a client during a conversation: the device, the delay of acks, the token.

use std::time::{Duration, Instant};

use super::Conversation;
use crate::edge::auth::TokenError;
use crate::edge::connection::close::CloseReason;
use crate::edge::context::ConnectionContext;
use crate::edge::protocol::frame::{Answer, Hello};

const OTHER_USER: &str = "is not of the user of this connection";
const SENT_AWAY: &str = "is revoked, or its user was kicked a moment ago";

impl Conversation {
    pub(super) fn hello(&mut self, seq: u32, hello: Hello, now: Instant) {
        if let Some(token) = &hello.token
            && let Err(cause) = self.renew(token.expose(), now)
        {
            return self.replies.unauthorized(seq, "hello.token", cause);
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
            Ok(expires) => self.succeed(seq, Answer::Token { expires }),
            Err(cause) => self.replies.unauthorized(seq, "token.token", cause),
        }
    }

    /// Takes over the end of a token that is good and of the same user; returns it (milliseconds since 1970), or what
    /// is wrong.
    fn renew(&mut self, token: &str, now: Instant) -> Result<u64, &'static str> {
        let identity = self.context.authenticator.identify(token).map_err(TokenError::cause)?;
        let wall = self.context.clock.wall();
        if identity.user != self.inbox().user {
            return Err(OTHER_USER);
        }
        // A token that has expired already must not close a healthy socket.
        if identity.expires_ms <= wall {
            return Err(TokenError::Expired.cause());
        }
        if !self.context.authenticator.renew(&self.registration, &identity) {
            self.end_now(CloseReason::Kicked);
            return Err(SENT_AWAY);
        }
        self.token_expiry.renew(&identity, now, wall);
        Ok(identity.expires_ms)
    }
}

/// As late as asked (milliseconds), and as the settings allow.
pub fn capped(ack_delay: u64, context: &ConnectionContext) -> Duration {
    Duration::from_millis(ack_delay).min(context.limits.ack_delay)
}
