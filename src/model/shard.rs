//! The shard of a user, which has all of the user's keys.

use siphasher::sip::SipHasher24;

use super::counters::{CounterId, CounterKey};
use super::ids::{Content, UserId};
use super::user_name::UserNameHash;

/// `hash(mid) % count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub u16);

/// `shard % 100`: the unit in which users are packed for the event bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(pub u16);

impl Shard {
    pub fn region(self) -> Region {
        Region(self.0 % Region::COUNT)
    }
}

impl Region {
    pub const COUNT: u16 = 100;

    pub fn all() -> impl Iterator<Item = Region> {
        (0..Region::COUNT).map(Region)
    }

    /// The shards whose users are of this region.
    pub fn shards(self) -> impl Iterator<Item = Shard> {
        Shards::DEFAULT.all().filter(move |shard| shard.region() == self)
    }
}

/// The number of shards. It never changes in a store.
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

    /// The same hash over kind and oid, as 2 and 8 bytes, little-endian: where the views of a content by request are
    /// counted.
    pub fn of_content(self, Content { kind, oid }: Content) -> Shard {
        let mut bytes = [0; 10];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[2..].copy_from_slice(&oid.to_le_bytes());
        self.of_bytes(&bytes)
    }

    /// The same hash over the hash of a name: where the number of the name is.
    pub fn of_name(self, hash: &UserNameHash) -> Shard {
        self.of_bytes(hash.bytes())
    }

    /// The same hash over the id of the counter, a zero byte, and the key as it is encoded (`1!100`): where the number
    /// of a direct counter is.
    pub fn of_counter(self, counter: &CounterId, key: &CounterKey) -> Shard {
        self.of_bytes(&[counter.as_str().as_bytes(), &[0], key.encoded().as_bytes()].concat())
    }

    /// The same hash over the id of the counter, a byte of 1, and the id of the request: where it is kept what a request
    /// to a direct counter is about.
    pub fn of_counter_request(self, counter: &CounterId, request: &str) -> Shard {
        self.of_bytes(&[counter.as_str().as_bytes(), &[1], request.as_bytes()].concat())
    }

    fn of_bytes(self, bytes: &[u8]) -> Shard {
        Shard((SipHasher24::new().hash(bytes) % u64::from(self.0)) as u16)
    }

    /// The room that one shard needs for its share of `total`: an even share plus four standard deviations, since a
    /// hash does not distribute evenly. One shard in 30,000 gets more, if all items are independent.
    pub fn share(self, total: u64) -> u64 {
        let even = total as f64 / f64::from(self.0);
        (even + 4.0 * even.sqrt()).ceil().max(1.0) as u64
    }

    pub fn all(self) -> impl Iterator<Item = Shard> {
        (0..self.0).map(Shard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not made by this program: by SipHash-2-4 written anew in Python after the paper and checked against its test
    /// vector (key 00…0f, message 00…0e: a129ca6149be45e5). The second column is the hash, the third the hash modulo
    /// 1000. `docs/rewards.md` has both.
    const GOLDEN: [(u64, u64, u16); 12] = [
        (0, 0xe849e8bb6ffe2567, 119),
        (1, 0x8004c5a694105f5e, 398),
        (2, 0xbdefecffcce24a01, 449),
        (42, 0x0fc2553f07619dd3, 819),
        (43, 0x91c1c481eb1752ea, 922),
        (1000, 0xd2620217072c4f4b, 603),
        (4242424242, 0xb9dce43f4ea4b6c4, 596),
        (1 << 32, 0x750433b8cac87f0c, 532),
        ((1 << 48) - 1, 0x7f967f5b2dd56434, 300),
        (1 << 53, 0xc1ad9faf93646bb8, 248),
        (1 << 63, 0xb2e6c2e3dbbb15f1, 377),
        (u64::MAX, 0x8050c18b6ac9d15e, 430),
    ];

    #[test]
    fn the_shard_of_a_user_is_the_documented_one() {
        for (mid, hash, shard) in GOLDEN {
            assert_eq!(Shards::DEFAULT.of(UserId(mid)), Shard(shard), "{mid}");
            assert_eq!(hash % 1000, u64::from(shard), "{mid}");
            let row = format!("| {mid} | {hash:016x} | {shard} |\n");
            assert!(include_str!("../../docs/rewards.md").contains(&row), "the page has {row}");
            assert_eq!(Shards(u16::MAX).of(UserId(mid)), Shard((hash % 65_535) as u16), "{mid}: more of the hash");
        }
    }

    /// Made as [`GOLDEN`] is.
    #[test]
    fn the_shard_of_a_counter_is_the_documented_one() {
        for (counter, parts, of_key, of_request) in [
            ("likes", &["1", "100"][..], 782, 773),
            ("likes", &[], 381, 773),
            ("a", &["b"], 394, 13),
            ("stock.eu", &["tv 3", "7"], 667, 642),
        ] {
            let id = counter.parse().unwrap();
            let key = CounterKey::of(parts.iter().copied()).unwrap();
            assert_eq!(Shards::DEFAULT.of_counter(&id, &key), Shard(of_key), "{counter} {parts:?}");
            assert_eq!(Shards::DEFAULT.of_counter_request(&id, "order-1"), Shard(of_request), "{counter}");
        }
    }

    #[test]
    fn each_shard_is_of_one_region() {
        let mut shards: Vec<Shard> = Region::all().flat_map(Region::shards).collect();
        assert_eq!(
            Region(7).shards().map(|shard| shard.0).collect::<Vec<_>>(),
            [7, 107, 207, 307, 407, 507, 607, 707, 807, 907]
        );
        shards.sort_unstable();
        assert!(shards.into_iter().eq(Shards::DEFAULT.all()));
    }

    #[test]
    fn dense_ids_are_spread_evenly() {
        let mut users = [0; 1000];
        (0..100_000).for_each(|mid| users[usize::from(Shards::DEFAULT.of(UserId(mid)).0)] += 1);
        let (least, most) = (users.iter().min().unwrap(), users.iter().max().unwrap());
        assert!(*least > 60 && *most < 140, "{least} to {most} of 100");
        assert_eq!(Shards::DEFAULT.all().count(), 1000);
    }
}
