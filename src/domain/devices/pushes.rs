//! What one connection is still to be told of the user's other devices.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crate::model::push::Push;
use crate::model::record::Record;

/// Urgent changes in their order, and one slot per content for records that only moved on steadily.
///
/// Bounded by [`Pushes::WAITING_MAX`]; a connection that lets it fill up is too slow and is closed.
#[derive(Debug, Default)]
pub struct Pushes {
    urgent: VecDeque<Push>,
    steady: Vec<Steady>,
}

#[derive(Debug)]
struct Steady {
    record: Record,
    due: Instant,
}

/// More waits than is kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Overflow;

impl Pushes {
    /// Changes that wait for one connection, both kinds together.
    pub const WAITING_MAX: usize = 512;

    /// A record that must be told at once: it is new, or its state or session changed.
    pub fn urgent_record(&mut self, record: Record) -> Result<(), Overflow> {
        if !self.forget_older(&record) {
            return Ok(());
        }
        self.push(Push::Record(record))
    }

    /// A record of which the latest is enough, after at most `interval`.
    pub fn steady_record(&mut self, record: Record, interval: Duration, now: Instant) -> Result<(), Overflow> {
        let same = |other: &Record| other.content == record.content;
        let waiting = self.urgent.iter_mut().find_map(|push| match push {
            Push::Record(urgent) if same(urgent) => Some(urgent),
            _ => None,
        });
        let waiting = waiting.or_else(|| self.steady.iter_mut().map(|steady| &mut steady.record).find(|r| same(r)));
        if let Some(waiting) = waiting {
            if waiting.version < record.version {
                *waiting = record;
            }
            return Ok(());
        }
        self.check_room()?;
        self.steady.push(Steady { record, due: now + interval });
        Ok(())
    }

    /// A forgetting, after which no record that it covers may be told any more.
    pub fn forgetting(&mut self, push: Push) -> Result<(), Overflow> {
        let covered = |record: &Record| match &push {
            Push::Deleted { contents, at } => record.at <= *at && contents.contains(&record.content),
            Push::Cleared { at } => record.at <= *at,
            Push::Record(_) | Push::Recording { .. } => false,
        };
        self.urgent.retain(|waiting| !matches!(waiting, Push::Record(record) if covered(record)));
        self.steady.retain(|waiting| !covered(&waiting.record));
        self.push(push)
    }

    /// Takes what is to be told now.
    pub fn take_due(&mut self, now: Instant) -> Vec<Push> {
        let mut due: Vec<Push> = self.urgent.drain(..).collect();
        let steady = self.steady.extract_if(.., |steady| steady.due <= now);
        due.extend(steady.map(|steady| Push::Record(steady.record)));
        due
    }

    /// When the next steady record is to be told.
    pub fn next_due(&self) -> Option<Instant> {
        self.steady.iter().map(|steady| steady.due).min()
    }

    /// Drops what waits for the record's content. False: that is newer.
    fn forget_older(&mut self, record: &Record) -> bool {
        let newer = |other: &Record| other.content == record.content && other.version > record.version;
        let older = |other: &Record| other.content == record.content;
        let urgent_newer = self.urgent.iter().any(|push| matches!(push, Push::Record(other) if newer(other)));
        if urgent_newer || self.steady.iter().any(|steady| newer(&steady.record)) {
            return false;
        }
        self.urgent.retain(|push| !matches!(push, Push::Record(other) if older(other)));
        self.steady.retain(|steady| !older(&steady.record));
        true
    }

    fn push(&mut self, push: Push) -> Result<(), Overflow> {
        self.check_room()?;
        self.urgent.push_back(push);
        Ok(())
    }

    fn check_room(&self) -> Result<(), Overflow> {
        let full = self.urgent.len() + self.steady.len() >= Self::WAITING_MAX;
        if full { Err(Overflow) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::beat::State;
    use crate::model::ids::{Content, SessionId};
    use std::sync::Arc;

    const INTERVAL: Duration = Duration::from_secs(30);

    fn record(oid: u64, at: u64) -> Record {
        Record {
            content: Content { kind: 1, oid },
            pos: at,
            dur: 0,
            state: State::Playing,
            session: SessionId(1),
            device: Arc::from(""),
            watched: at,
            at,
            version: at * 1000,
        }
    }

    #[test]
    fn the_latest_steady_record_is_told_once_and_in_time() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        for at in [1, 3, 2] {
            pushes.steady_record(record(100, at), INTERVAL, now + Duration::from_secs(at)).unwrap();
        }
        assert!(pushes.take_due(now + INTERVAL).is_empty());
        assert_eq!(pushes.next_due(), Some(now + Duration::from_secs(1) + INTERVAL));
        assert_eq!(pushes.take_due(now + Duration::from_secs(1) + INTERVAL), [Push::Record(record(100, 3))]);
        assert_eq!(pushes.next_due(), None);
    }

    #[test]
    fn an_urgent_record_takes_the_place_of_a_steady_one() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        pushes.steady_record(record(100, 1), INTERVAL, now).unwrap();
        pushes.urgent_record(record(100, 2)).unwrap();
        pushes.urgent_record(record(100, 1)).unwrap();
        assert_eq!(pushes.take_due(now), [Push::Record(record(100, 2))]);
        assert!(pushes.take_due(now + INTERVAL).is_empty());
    }

    #[test]
    fn what_was_deleted_is_not_told_afterwards() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        pushes.steady_record(record(100, 1), INTERVAL, now).unwrap();
        pushes.urgent_record(record(200, 5)).unwrap();
        let deleted = Push::Deleted { contents: vec![record(100, 0).content, record(200, 0).content], at: 4 };
        pushes.forgetting(deleted.clone()).unwrap();
        assert_eq!(pushes.take_due(now + INTERVAL), [Push::Record(record(200, 5)), deleted]);
    }

    #[test]
    fn more_than_the_bound_overflows() {
        let mut pushes = Pushes::default();
        for oid in 0..Pushes::WAITING_MAX as u64 {
            pushes.urgent_record(record(oid, 1)).unwrap();
        }
        assert_eq!(pushes.urgent_record(record(1_000_000, 1)), Err(Overflow));
        assert_eq!(pushes.urgent_record(record(0, 2)), Ok(()));
    }
}
