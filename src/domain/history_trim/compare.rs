//! A user's data in the hot store against that in the history store.

use model::ids::Content;
use model::pack::{PackedForgetting, PackedRow, UserPack};
use model::retention::Retention;
use storage::history_store::HistoryUser;

/// Data that expire so soon are not compared: the clocks of the stores differ.
const EXPIRES_SOON_MS: u64 = 60_000;

/// The state of a row in the history store, or of the user's clears and pauses there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    Same,
    /// A newer version. The hot store was restored from an older copy, or was written since it was read.
    Newer,
    /// An older version.
    Older,
    Missing,
    /// Other data under the same version.
    Different,
}

impl Found {
    pub const ALL: [Found; 5] = [Found::Same, Found::Newer, Found::Older, Found::Missing, Found::Different];

    pub fn word(self) -> &'static str {
        match self {
            Found::Same => "same",
            Found::Newer => "newer",
            Found::Older => "older",
            Found::Missing => "missing",
            Found::Different => "different",
        }
    }

    /// Whether the hot store has something that the history store should have and lacks.
    pub fn is_behind(self) -> bool {
        matches!(self, Found::Older | Found::Missing | Found::Different)
    }
}

/// A comparison of one user.
pub struct Compared {
    /// `None`: the user has neither cleared nor paused anything.
    pub forgetting: Option<Found>,
    /// Each unexpired row.
    pub rows: Vec<(Content, Found)>,
}

impl Compared {
    pub fn all(&self) -> impl Iterator<Item = Found> {
        self.forgetting.into_iter().chain(self.rows.iter().map(|(_, found)| *found))
    }
}

/// Compares each unexpired row, and the clears and pauses if there are any. `now`: milliseconds.
///
/// Rows that only the history store has are not compared: the hot store may have dropped them at its cap.
pub fn compare(hot: &UserPack, history: &HistoryUser, retention: Retention, now: u64) -> Compared {
    let horizon = retention.horizon(now + EXPIRES_SOON_MS);
    let forgetting = hot.forgetting.clone().and_then(|hot| hot.unexpired(horizon));
    let forgetting = forgetting.map(|hot| compare_forgetting(&hot, history.forgetting.as_ref()));
    let rows = hot.rows.iter().filter(|row| row.newest() >= horizon);
    let rows = rows.map(|row| {
        let index = history.rows.binary_search_by_key(&row.content, |row| row.content);
        (row.content, compare_row(row, index.ok().map(|index| &history.rows[index])))
    });
    Compared { forgetting, rows: rows.collect() }
}

/// Versions are not compared: in the hot store it is that of the token, which each write of the user raises.
fn compare_forgetting(hot: &PackedForgetting, history: Option<&PackedForgetting>) -> Found {
    let Some(history) = history else { return Found::Missing };
    let order = |of: &PackedForgetting| (of.watermark, of.switches.last().map(|switch| switch.at));
    match order(history).cmp(&order(hot)) {
        std::cmp::Ordering::Less => Found::Older,
        std::cmp::Ordering::Greater => Found::Newer,
        std::cmp::Ordering::Equal if history.switches.last() == hot.switches.last() => Found::Same,
        std::cmp::Ordering::Equal => Found::Different,
    }
}

fn compare_row(hot: &PackedRow, history: Option<&PackedRow>) -> Found {
    let Some(history) = history else { return Found::Missing };
    match history.version.cmp(&hot.version) {
        std::cmp::Ordering::Less => Found::Older,
        std::cmp::Ordering::Greater => Found::Newer,
        std::cmp::Ordering::Equal => {
            // A delete and a record may share the version of the row; then both must be there.
            let is_same = history.tombstone == hot.tombstone && history.record == hot.record;
            if is_same { Found::Same } else { Found::Different }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use model::beat::State;
    use model::ids::{Content, SessionId, UserId};
    use model::pack::PackedRecord;
    use model::recording::Switch;
    use model::version::Version;

    const DAY: u64 = 86_400_000;
    const NOW: u64 = 20_000 * DAY + 500;
    const RETENTION: Retention = Retention::of(Duration::from_hours(240));

    fn row(oid: u64, at: u64, version: u64) -> PackedRow {
        let record = PackedRecord {
            pos: 1,
            dur: 2,
            state: State::Paused,
            session: SessionId(3),
            device: Arc::from("tv"),
            watched: 4,
            at,
        };
        PackedRow { content: Content { kind: 1, oid }, record: Some(record), tombstone: 0, version: Version(version) }
    }

    fn found(hot: Vec<PackedRow>, history: Vec<PackedRow>) -> Vec<Found> {
        let hot = UserPack { user: UserId(1), forgetting: None, rows: hot };
        compare(&hot, &HistoryUser { forgetting: None, rows: history }, RETENTION, NOW).all().collect()
    }

    #[test]
    fn each_row_is_compared_by_its_version_and_its_data() {
        let other = |mut row: PackedRow, pos| {
            row.record.as_mut().expect("a record").pos = pos;
            row
        };
        let deleted = |oid, at, version| PackedRow { record: None, tombstone: at, ..row(oid, at, version) };
        let hot = vec![row(1, NOW, 5), row(2, NOW, 5), row(3, NOW, 5), row(4, NOW, 5), row(5, NOW, 5), row(6, NOW, 5)];
        let history = vec![
            row(1, NOW, 5),
            other(row(2, NOW, 6), 9),
            row(3, NOW, 4),
            other(row(5, NOW, 5), 9),
            deleted(6, NOW, 5),
            row(7, NOW, 5),
        ];
        use Found::*;
        assert_eq!(found(hot, history), [Same, Newer, Older, Missing, Different, Different]);
    }

    #[test]
    fn what_has_expired_or_will_soon_is_not_compared() {
        let oldest = NOW / DAY * DAY - 9 * DAY;
        assert_eq!(found(vec![row(1, oldest - 1, 5), row(2, oldest, 5)], Vec::new()), [Found::Missing]);
        let until = Retention::of(Duration::from_secs(3_600));
        let hot = UserPack { user: UserId(1), forgetting: None, rows: vec![row(1, NOW - 3_600_000 + 59_000, 5)] };
        assert_eq!(compare(&hot, &HistoryUser::default(), until, NOW).all().count(), 0);
    }

    #[test]
    fn clears_and_pauses_are_compared_by_what_they_say() {
        let told = |watermark, switches: &[(u64, bool)], version| {
            let switches = switches.iter().map(|&(at, paused)| Switch { at, paused }).collect();
            PackedForgetting { watermark, floor: 0, switches, version: Version(version) }
        };
        let found = |hot, history| {
            let hot = UserPack { user: UserId(1), forgetting: Some(hot), rows: Vec::new() };
            let history = HistoryUser { forgetting: history, rows: Vec::new() };
            compare(&hot, &history, RETENTION, NOW).all().collect::<Vec<_>>()
        };
        let paused = |version| told(NOW, &[(NOW - 5, true)], version);
        assert_eq!(found(paused(9), Some(paused(5))), [Found::Same], "the token moves on with each write");
        assert_eq!(found(paused(9), Some(told(NOW - 1, &[(NOW - 5, true)], 5))), [Found::Older]);
        assert_eq!(found(paused(9), Some(told(NOW, &[(NOW - 5, true), (NOW, false)], 5))), [Found::Newer]);
        assert_eq!(found(paused(9), Some(told(NOW, &[(NOW - 5, false)], 5))), [Found::Different]);
        assert_eq!(found(paused(9), None), [Found::Missing]);
        assert_eq!(found(told(NOW - 20 * DAY, &[], 9), None), [], "it has expired");
    }
}
