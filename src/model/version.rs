//! Versions, which order the writes of one content or of one user.

/// Microseconds; it only grows, and is the write timestamp in every later store.
///
/// A millisecond has a thousand versions. A beat takes the first free one, a delete the last, so that the delete wins
/// against beats of the same moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

const PER_MS: u64 = 1000;

impl Version {
    /// Before all others: nothing has it.
    pub const NONE: Self = Version(0);

    /// The first of a moment, milliseconds.
    pub const fn first_of(at: u64) -> Self {
        Version(at.saturating_mul(PER_MS))
    }

    /// The last of a moment, milliseconds. What became known by that moment or an earlier one has no higher version.
    pub const fn last_of(at: u64) -> Self {
        Version(at.saturating_mul(PER_MS).saturating_add(PER_MS - 1))
    }

    pub const fn next(self) -> Self {
        Version(self.0 + 1)
    }

    /// Its moment, milliseconds.
    pub const fn at(self) -> u64 {
        self.0 / PER_MS
    }

    /// The distance above another version, which is stored: usually 0.
    pub const fn above(self, least: Version) -> u64 {
        self.0.wrapping_sub(least.0)
    }

    /// The version that is `above` higher than this one.
    pub const fn raised(self, above: u64) -> Self {
        Version(self.0.wrapping_add(above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_versions_of_a_moment_are_below_those_of_the_next(at in 0..1_u64 << 53) {
            let (first, last) = (Version::first_of(at), Version::last_of(at));
            prop_assert_eq!((first.at(), last.at(), last.next()), (at, at, Version::first_of(at + 1)));
            prop_assert_eq!(last.above(first), 999);
        }

        #[test]
        fn a_version_is_restored_from_its_distance(version in any::<u64>(), at in any::<u64>()) {
            for least in [Version::first_of(at), Version::last_of(at)] {
                prop_assert_eq!(least.raised(Version(version).above(least)), Version(version));
            }
        }
    }
}
