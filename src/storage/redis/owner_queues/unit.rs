//! Units of owners. All keys of a unit are in one slot of a Cluster, so that a script may touch them in one step.

use siphasher::sip::SipHasher24;

use model::shard::Shard;
use model::subscribers::SubscriberId;

/// It never changes in a store.
pub const UNITS: u16 = 16;

/// The unit of an owner: SipHash-2-4 with a key of 16 zero bytes, over the id, modulo [`UNITS`]. Its keys carry the tag
/// of the shard of this number, which is prepared as all shards are.
pub fn unit_of(id: &SubscriberId) -> Shard {
    Shard((SipHasher24::new().hash(id.as_str().as_bytes()) % u64::from(UNITS)) as u16)
}

pub fn all() -> impl Iterator<Item = Shard> {
    (0..UNITS).map(Shard)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(id: &str) -> u16 {
        unit_of(&id.parse().unwrap()).0
    }

    /// Not made by this program: by SipHash-2-4 written anew in Python after the paper, and checked against its test vector.
    #[test]
    fn the_unit_of_an_id_stays_the_same() {
        for (id, expected) in [("a", 9), ("rewards-eu", 3), ("Team_2.x", 1)] {
            assert_eq!(unit(id), expected, "{id}");
        }
        assert_eq!(unit(&"x".repeat(64)), 12);
    }

    #[test]
    fn ids_are_spread_evenly() {
        let mut owners = [0; UNITS as usize];
        (0..16_000).for_each(|number| owners[usize::from(unit(&format!("owner-{number}")))] += 1);
        assert!(owners.iter().all(|count| (850..1_150).contains(count)), "{owners:?}");
    }
}
