//! How long records are kept.

use std::time::Duration;

const DAY_MS: u64 = 86_400_000;

/// How long records are kept. A retention of whole days ends with a UTC day: `90d` keeps today and the 89 days before.
/// So all of a day expires at one moment, and counts per day are of whole days. Any other one ends to the millisecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retention {
    ms: u64,
}

impl Retention {
    pub const fn of(duration: Duration) -> Self {
        Retention { ms: duration.as_millis() as u64 }
    }

    pub const fn of_ms(ms: u64) -> Self {
        Retention { ms }
    }

    pub const fn ms(self) -> u64 {
        self.ms
    }

    /// The moment before which records have expired, milliseconds since 1970.
    pub fn horizon(self, now: u64) -> u64 {
        match self.days() {
            Some(days) => (now / DAY_MS + 1).saturating_sub(days) * DAY_MS,
            None => now.saturating_sub(self.ms),
        }
    }

    /// The first moment at which a record of `at` has expired; both in milliseconds since 1970.
    pub fn expires(self, at: u64) -> u64 {
        match self.days() {
            Some(days) => (at / DAY_MS).saturating_add(days).saturating_mul(DAY_MS),
            None => self.after(at),
        }
    }

    /// When something of `at` is as old as the retention, to the millisecond.
    pub fn after(self, at: u64) -> u64 {
        at.saturating_add(self.ms).saturating_add(1)
    }

    fn days(self) -> Option<u64> {
        (self.ms > 0 && self.ms.is_multiple_of(DAY_MS)).then_some(self.ms / DAY_MS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn retention(ms: u64) -> Retention {
        Retention::of(Duration::from_millis(ms))
    }

    const NOON: u64 = 20_000 * DAY_MS + DAY_MS / 2;

    #[test]
    fn whole_days_end_at_midnight() {
        let midnight = 20_000 * DAY_MS;
        assert_eq!(retention(DAY_MS).horizon(NOON), midnight, "today");
        assert_eq!(retention(90 * DAY_MS).horizon(NOON), midnight - 89 * DAY_MS);
        assert_eq!(retention(90 * DAY_MS).expires(NOON), midnight + 90 * DAY_MS);
        assert_eq!(retention(30_000 * DAY_MS).horizon(NOON), 0, "all days since 1970");
    }

    #[test]
    fn a_retention_of_no_whole_days_ends_to_the_millisecond() {
        let hour = retention(3_600_000);
        assert_eq!((hour.horizon(NOON), hour.expires(NOON)), (NOON - 3_600_000, NOON + 3_600_001));
    }

    proptest! {
        #[test]
        fn a_record_expires_when_the_horizon_passes_it(
            days in 0_u64..40, rest in prop_oneof![Just(0), 1..DAY_MS], at in 0..40 * DAY_MS,
        ) {
            let retention = retention((days * DAY_MS + rest).max(1));
            let expires = retention.expires(at);
            prop_assert!(at < retention.horizon(expires) && at >= retention.horizon(expires - 1));
        }
    }
}
