//! How long a peer has been silent.

use std::time::{Duration, Instant};

use super::limits::SocketConfig;

/// Pings after a while of silence, and gives up when that is not answered.
#[derive(Debug)]
pub struct Silence {
    ping_after: Duration,
    close_after: Duration,
    heard: Instant,
    pinged: bool,
}

/// What silence calls for.
#[derive(Debug, PartialEq, Eq)]
pub enum Due {
    Nothing,
    Ping,
    Close,
}

impl Silence {
    pub fn new(config: &SocketConfig, now: Instant) -> Self {
        Silence { ping_after: config.ping, close_after: config.idle, heard: now, pinged: false }
    }

    /// A frame or a pong came, or the server has not been reading.
    pub fn broken(&mut self, now: Instant) {
        self.heard = now;
        self.pinged = false;
    }

    /// Says each thing once.
    pub fn due(&mut self, now: Instant) -> Due {
        let silent = now.saturating_duration_since(self.heard);
        if silent >= self.close_after {
            return Due::Close;
        }
        if silent >= self.ping_after && !self.pinged {
            self.pinged = true;
            return Due::Ping;
        }
        Due::Nothing
    }

    /// When to ask again.
    pub fn next(&self) -> Instant {
        self.heard + if self.pinged { self.close_after } else { self.ping_after }
    }
}
