//! The data of a user in a history store.

use model::forgetting::oldest_live;
use model::pack::{PackedForgetting, PackedRow};
use model::retention::Retention;

/// All unexpired data of a user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HistoryUser {
    /// `None`: no clears or pauses, or only expired ones.
    pub forgetting: Option<PackedForgetting>,
    /// Sorted by content.
    pub rows: Vec<PackedRow>,
}

impl HistoryUser {
    /// Removes data that a read at `now` must not show. A store may find such data, since it removes expired rows
    /// later, by its own clock.
    pub fn seen(
        found: Option<PackedForgetting>,
        mut rows: Vec<PackedRow>,
        retention: Retention,
        now: u64,
    ) -> HistoryUser {
        let horizon = retention.horizon(now);
        let oldest = oldest_live(found.as_ref().map_or(0, |found| found.watermark), horizon);
        rows.retain(|row| row.newest() >= oldest);
        for row in &mut rows {
            // A record that its delete removed, and a late pack brought back after the delete's marks were compacted
            // away.
            row.record.take_if(|record| record.at <= row.tombstone);
        }
        rows.sort_unstable_by_key(|row| row.content);
        HistoryUser { forgetting: found.and_then(|found| found.unexpired(horizon)), rows }
    }
}

#[cfg(test)]
mod tests {
    use model::version::Version;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use model::beat::State;
    use model::ids::{Content, SessionId};
    use model::pack::PackedRecord;
    use model::recording::Switch;

    const HOUR: u64 = 3_600_000;
    const NOW: u64 = 1_795_150_000_000;

    fn row(oid: u64, at: Option<u64>, tombstone: u64) -> PackedRow {
        let record = at.map(|at| PackedRecord {
            pos: 1,
            dur: 2,
            state: State::Paused,
            session: SessionId(3),
            device: Arc::from("tv"),
            watched: 4,
            at,
        });
        PackedRow { content: Content { kind: 1, oid }, record, tombstone, version: Version(5) }
    }

    fn seen(watermark: u64, switches: &[(u64, bool)], rows: Vec<PackedRow>) -> HistoryUser {
        let switches = switches.iter().map(|&(at, paused)| Switch { at, paused }).collect();
        let found = PackedForgetting { watermark, floor: 0, switches, version: Version(9) };
        HistoryUser::seen(Some(found), rows, Retention::of(Duration::from_millis(HOUR)), NOW)
    }

    #[test]
    fn rows_below_the_watermark_or_the_horizon_are_not_seen() {
        let horizon = NOW - HOUR;
        let rows = vec![
            row(5, Some(NOW - 10), 0),
            row(4, Some(NOW - 20), 0),
            row(3, None, NOW - 10),
            row(2, None, NOW - 20),
            row(1, Some(NOW), NOW - 20),
        ];
        let kept = |user: HistoryUser| user.rows.iter().map(|row| row.content.oid).collect::<Vec<_>>();
        assert_eq!(kept(seen(NOW - 20, &[], rows)), [1, 3, 5]);
        assert_eq!(kept(seen(0, &[], vec![row(1, Some(horizon - 1), 0), row(2, None, horizon)])), [2]);
    }

    #[test]
    fn a_record_that_is_not_newer_than_its_tombstone_is_not_seen() {
        let user = seen(0, &[], vec![row(1, Some(NOW - 5), NOW - 5), row(2, Some(NOW - 4), NOW - 5)]);
        assert_eq!(user.rows.iter().map(|row| row.record.is_some()).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn an_expired_watermark_is_not_seen_and_an_open_pause_is() {
        let old = NOW - HOUR - 1;
        assert_eq!(seen(old, &[(old - 9, true), (old, false)], Vec::new()).forgetting, None);
        let paused = seen(old, &[(old, true)], Vec::new()).forgetting.expect("a pause");
        assert_eq!((paused.watermark, paused.switches.len(), paused.version), (0, 1, Version(9)));
    }
}
