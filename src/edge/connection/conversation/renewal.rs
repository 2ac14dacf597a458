//! Changes of a client during a conversation: the device, the delay of acks, the token.

use std::time::Instant;

use futures_util::future::BoxFuture;

use super::Conversation;
use super::ack_delay::AckDelay;
use crate::auth::TokenError;
use crate::connection::close::CloseReason;
use crate::protocol::frame::{Answer, Hello, Operation};

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
            *delay = AckDelay::capped(asked, self.context.limits.ack_delay);
            // An ack says all that is before it, so none may wait for longer than the next.
            self.beats.due = self.beats.due.map(|due| due.min(now + delay.get()));
        }
        self.succeed(seq, Answer::Done);
    }

    pub(super) fn token(&mut self, seq: u32, token: &str, now: Instant) {
        match self.renew(token, now) {
            Ok(expires) => self.succeed(seq, Answer::Token { expires }),
            Err(cause) => self.replies.unauthorized(seq, "token.token", cause),
        }
    }

    /// Something to wait for before the token of the operation is judged.
    pub(super) fn awaited_key(&self, operation: &Operation) -> Option<BoxFuture<'static, ()>> {
        self.context.authenticator.awaited_key(token_of(operation)?)
    }

    /// Whether the operation has a token that names an unknown key.
    pub(super) fn lacks_key(&self, operation: &Operation) -> bool {
        token_of(operation).is_some_and(|token| self.context.authenticator.lacks_key(token))
    }

    /// Takes over the end of a token that is good and of the same user; returns it (milliseconds since 1970), or what
    /// is wrong.
    fn renew(&mut self, token: &str, now: Instant) -> Result<u64, &'static str> {
        let identity = self.context.authenticator.identify(token).map_err(TokenError::cause)?;
        let wall = self.context.clock.wall();
        if !self.whose().is(&identity.subject) {
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

fn token_of(operation: &Operation) -> Option<&str> {
    match operation {
        Operation::Hello(hello) => hello.token.as_ref().map(|token| token.expose()),
        Operation::Token { token } => Some(token.expose()),
        _ => None,
    }
}
