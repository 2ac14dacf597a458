//! Where all of a user's keys live.

use siphasher::sip::SipHasher24;

use super::ids::UserId;

/// `hash(mid) % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u16);

/// How many shards there are. A store keeps to the number it was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shards(u16);

impl Shards {
    pub const DEFAULT: Shards = Shards(1000);

    pub fn count(self) -> u16 {
        self.0
    }

    /// SipHash-2-4 with a key of 16 zero bytes, over the mid as 8 bytes, little-endian; the hash is a `u64`.
    ///
    /// Fixed for good: what is stored under a shard is found under it by every gateway, in whatever language it counts.
    /// See Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).
    pub fn of(self, user: UserId) -> Shard {
        let hash = SipHasher24::new().hash(&user.0.to_le_bytes());
        Shard((hash % u64::from(self.0)) as u16)
    }

    pub fn all(self) -> impl Iterator<Item = Shard> {
        (0..self.0).map(Shard)
    }
}
