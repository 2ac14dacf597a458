//! Until when a socket may stay.

use std::time::{Duration, Instant};

use crate::domain::clock;
use crate::edge::auth::token::Identity;

/// An authenticated socket lives at least so long, however short its token.
const LIFE_MIN: Duration = Duration::from_secs(5);

/// Ends with the token, unless that is renewed.
pub struct Lease {
    expires: Instant,
    not_before: Instant,
}

impl Lease {
    pub fn of(identity: &Identity, now: Instant) -> Self {
        Lease { expires: moment_of(identity, now), not_before: now + LIFE_MIN }
    }

    pub fn renew(&mut self, identity: &Identity, now: Instant) {
        self.expires = moment_of(identity, now);
    }

    /// It does not end before then.
    pub fn extend(&mut self, until: Instant) {
        self.not_before = until;
    }

    pub fn ends(&self) -> Instant {
        self.expires.max(self.not_before)
    }
}

/// The token's end, on the monotonic clock.
fn moment_of(identity: &Identity, now: Instant) -> Instant {
    now + Duration::from_millis(identity.expires_ms.saturating_sub(clock::wall()))
}
