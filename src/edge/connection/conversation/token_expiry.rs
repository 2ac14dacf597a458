//! The end of a socket by the expiry of its token.

use std::time::{Duration, Instant};

use crate::auth::token::Identity;

/// The least life of an authenticated socket, however short its token.
const LIFE_MIN: Duration = Duration::from_secs(5);
/// How long frames that had arrived by the end are still read.
const LINGER: Duration = Duration::from_secs(1);

/// Ends with the token, unless the token is renewed. A renewal that arrived in time counts even if earlier frames took
/// long. So frames that had arrived by the end are still read, for a moment.
pub enum TokenExpiry {
    Holds { expires: Instant, not_before: Instant },
    Lingers { until: Instant },
}

impl TokenExpiry {
    /// `wall`: the wall clock at `now`, milliseconds since 1970.
    pub fn of(identity: &Identity, now: Instant, wall: u64) -> Self {
        TokenExpiry::Holds { expires: moment_of(identity, now, wall), not_before: now + LIFE_MIN }
    }

    pub fn renew(&mut self, identity: &Identity, now: Instant, wall: u64) {
        let not_before = match *self {
            TokenExpiry::Holds { not_before, .. } => not_before,
            TokenExpiry::Lingers { .. } => now,
        };
        *self = TokenExpiry::Holds { expires: moment_of(identity, now, wall), not_before };
    }

    /// When to ask whether it [is over](Self::is_over).
    pub fn ends(&self) -> Instant {
        match *self {
            TokenExpiry::Holds { expires, not_before } => expires.max(not_before),
            TokenExpiry::Lingers { until } => until,
        }
    }

    /// `all_read`: nothing more is there to be read.
    pub fn is_over(&mut self, now: Instant, all_read: bool) -> bool {
        let ended = now >= self.ends();
        match self {
            TokenExpiry::Lingers { .. } => ended || all_read,
            TokenExpiry::Holds { .. } => {
                if ended && !all_read {
                    *self = TokenExpiry::Lingers { until: now + LINGER };
                }
                ended && all_read
            }
        }
    }
}

/// The token's end, on the monotonic clock.
fn moment_of(identity: &Identity, now: Instant, wall: u64) -> Instant {
    now + Duration::from_millis(identity.expires_ms.saturating_sub(wall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::token::Subject;
    use model::ids::UserId;
    use model::revocation::TokenMark;

    const WALL: u64 = 1_795_150_000_000;

    /// The identity in a token that ends so many seconds from now.
    fn identity(seconds: u64) -> Identity {
        Identity { subject: Subject::Number(UserId(1)), expires_ms: WALL + seconds * 1000, token: TokenMark::default() }
    }

    #[test]
    fn after_the_end_of_a_token_pending_input_is_read_for_a_moment() {
        let now = Instant::now();
        let end = now + LIFE_MIN;
        let ended = || TokenExpiry::of(&identity(0), now, WALL);
        assert!(!ended().is_over(end - LINGER, true), "it has not ended");
        assert!(ended().is_over(end, true), "nothing is there");
        let mut expiry = ended();
        assert!(!expiry.is_over(end, false) && !expiry.is_over(end + LINGER / 2, false));
        assert!(expiry.is_over(end + LINGER / 2, true) && expiry.is_over(end + LINGER, false));
        expiry.renew(&identity(60), end + LINGER / 2, WALL);
        assert!(!expiry.is_over(end + LINGER, true), "it was renewed");
    }
}
