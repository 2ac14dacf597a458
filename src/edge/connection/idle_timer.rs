//! How long a peer has been silent.

use std::time::Instant;

use crate::limits::config::SocketConfig;

/// Pings after a while of silence, and gives up when that is not answered.
#[derive(Debug)]
pub struct IdleTimer {
    heard: Instant,
    pinged: bool,
}

/// The step that is due after a silence.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Ping,
    Close,
}

impl IdleTimer {
    pub fn new(now: Instant) -> Self {
        IdleTimer { heard: now, pinged: false }
    }

    /// A frame or a pong came, or the server has not been reading.
    pub fn broken(&mut self, now: Instant) {
        self.heard = now;
        self.pinged = false;
    }

    /// Says each thing once.
    pub fn due(&mut self, config: &SocketConfig, now: Instant) -> Due {
        let silent = now.saturating_duration_since(self.heard);
        if silent >= config.idle {
            return Due::Close;
        }
        if silent >= config.ping && !self.pinged {
            self.pinged = true;
            return Due::Ping;
        }
        Due::Nothing
    }

    /// When to ask again.
    pub fn next(&self, config: &SocketConfig) -> Instant {
        self.heard + if self.pinged { config.idle } else { config.ping }
    }
}
