//! Values that tests of this crate and of those above take.

use crate::counters::CounterKey;
use crate::counters::crossing::Crossing;
use crate::ids::{Content, SessionId, UserId};
use crate::rewards::claim::{Claim, ClaimKey};

/// A claim of user `mid` by a rule per user.
pub fn claim(mid: u64) -> Claim {
    Claim {
        key: ClaimKey {
            rule: "first-of-day".into(),
            day: "2026-11-20".parse().expect("a day"),
            user: UserId(mid),
            content: None,
        },
        content: Content { kind: 1, oid: 100 },
        session: SessionId(8_311_207),
        device: "tv-3f".into(),
        watched: 5_000,
        claimed_at: 1_795_150_000_118,
        zone: "Europe/Berlin".into(),
    }
}

/// A counter `likes` with this key has crossed a threshold.
pub fn crossing(parts: &[&str], threshold: i64, n: u64) -> Crossing {
    Crossing {
        counter: "likes".parse().expect("an id"),
        key: CounterKey::of(parts.iter().copied()).expect("a key"),
        value: threshold + 2,
        threshold,
        n,
        at: 1_795_150_000_118,
    }
}
