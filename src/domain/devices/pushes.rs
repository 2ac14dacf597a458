//! The pushes that wait for one connection: changes by the user's other devices.

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use model::ids::Content;
use model::push::Push;
use model::record::Record;

/// One slot per content for records; other changes in their order.
///
/// Bounded by [`Pushes::WAITING_MAX`]; a connection that lets it fill up is too slow and is closed.
#[derive(Debug, Default)]
pub struct Pushes {
    records: HashMap<Content, WaitingRecord>,
    /// Deletes, clears and switches of recording, each with its number.
    others: VecDeque<(u64, Push)>,
    /// The number of changes so far, which orders them.
    numbers: u64,
}

#[derive(Debug)]
struct WaitingRecord {
    number: u64,
    record: Record,
    /// `None`: at once.
    due: Option<Instant>,
}

impl WaitingRecord {
    /// Keeps the newer record, due as soon as either was.
    fn meet(&mut self, other: Record, due: Option<Instant>) {
        if self.record.version < other.version {
            self.record = other;
        }
        self.due = self.due.and_then(|sooner| due.map(|due| due.min(sooner)));
    }
}

/// More changes wait than are kept.
#[derive(Debug, PartialEq, Eq)]
pub struct Overflow;

impl Pushes {
    /// Changes that wait for one connection (about 200 bytes each): as many as the other connections of a user may
    /// commit at once, so that only a client that really does not read can be too slow.
    pub const WAITING_MAX: usize = 16_384;

    /// Adds a record; the latest of its content must be pushed by `due`; `None`: at once.
    pub fn record(&mut self, record: Record, due: Option<Instant>) -> Result<(), Overflow> {
        let Some(waiting) = self.records.get_mut(&record.content) else {
            let number = self.next_number()?;
            self.records.insert(record.content, WaitingRecord { number, record, due });
            return Ok(());
        };
        waiting.meet(record, due);
        Ok(())
    }

    /// Takes note of a record that is older than a pushed one of its content. It is not pushed, but a waiting record of
    /// the content may become due sooner. True: such a record waits.
    pub fn late_record(&mut self, record: Record, due: Option<Instant>) -> bool {
        let waiting = self.records.get_mut(&record.content);
        waiting.map(|waiting| waiting.meet(record, due)).is_some()
    }

    /// Adds a delete, a clear or a switch of recording. Waiting records that it removes are not pushed any more.
    pub fn forgetting(&mut self, push: Push) -> Result<(), Overflow> {
        match &push {
            Push::Deleted { contents, at } => {
                for content in contents {
                    if self.records.get(content).is_some_and(|waiting| waiting.record.at <= *at) {
                        self.records.remove(content);
                    }
                }
            }
            Push::Cleared { at } => self.records.retain(|_, waiting| waiting.record.at > *at),
            Push::Record(_) | Push::Recording { .. } | Push::Flag(_) => {}
        }
        let number = self.next_number()?;
        self.others.push_back((number, push));
        Ok(())
    }

    /// Takes the pushes that are due now, in the order of the changes.
    pub fn take_due(&mut self, now: Instant) -> Vec<Push> {
        let mut due: Vec<(u64, Push)> = self.others.drain(..).collect();
        let records = self.records.extract_if(|_, waiting| waiting.due.is_none_or(|due| due <= now));
        due.extend(records.map(|(_, waiting)| (waiting.number, Push::Record(waiting.record))));
        due.sort_unstable_by_key(|(number, _)| *number);
        due.into_iter().map(|(_, push)| push).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.others.is_empty()
    }

    /// When the next steady record is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.records.values().filter_map(|waiting| waiting.due).min()
    }

    fn next_number(&mut self) -> Result<u64, Overflow> {
        if self.records.len() + self.others.len() >= Self::WAITING_MAX {
            return Err(Overflow);
        }
        self.numbers += 1;
        Ok(self.numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::beat::State;
    use model::ids::SessionId;
    use model::rewards::credit::Credit;
    use model::version::Version;
    use std::sync::Arc;
    use std::time::Duration;

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
            version: Version::first_of(at),
            credit: Credit::default(),
        }
    }

    #[test]
    fn the_latest_steady_record_is_pushed_once_at_the_earliest_due_time() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        for at in [1, 3, 2] {
            pushes.record(record(100, at), Some(now + Duration::from_secs(at) + INTERVAL)).unwrap();
        }
        assert!(pushes.take_due(now + INTERVAL).is_empty());
        assert_eq!(pushes.next_due(), Some(now + Duration::from_secs(1) + INTERVAL));
        assert_eq!(pushes.take_due(now + Duration::from_secs(1) + INTERVAL), [Push::Record(record(100, 3))]);
        assert_eq!(pushes.next_due(), None);
    }

    #[test]
    fn an_urgent_record_takes_the_place_of_a_steady_one() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        pushes.record(record(100, 1), Some(now + INTERVAL)).unwrap();
        pushes.record(record(100, 2), None).unwrap();
        pushes.record(record(100, 1), None).unwrap();
        assert_eq!(pushes.take_due(now), [Push::Record(record(100, 2))]);
        assert!(pushes.take_due(now + INTERVAL).is_empty());
    }

    #[test]
    fn a_late_record_makes_the_waiting_newer_one_due() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        assert!(!pushes.late_record(record(100, 1), None));
        assert!(pushes.is_empty());
        pushes.record(record(100, 2), Some(now + INTERVAL)).unwrap();
        assert!(pushes.late_record(record(100, 1), None));
        assert_eq!(pushes.take_due(now), [Push::Record(record(100, 2))]);
    }

    #[test]
    fn a_waiting_record_is_not_pushed_once_deleted() {
        let (mut pushes, now) = (Pushes::default(), Instant::now());
        pushes.record(record(100, 1), Some(now + INTERVAL)).unwrap();
        pushes.record(record(200, 5), None).unwrap();
        let deleted = Push::Deleted { contents: vec![record(100, 0).content, record(200, 0).content], at: 4 };
        pushes.forgetting(deleted.clone()).unwrap();
        assert_eq!(pushes.take_due(now + INTERVAL), [Push::Record(record(200, 5)), deleted]);
    }

    #[test]
    fn more_waiting_contents_than_the_bound_overflow() {
        let mut pushes = Pushes::default();
        for oid in 0..Pushes::WAITING_MAX as u64 {
            pushes.record(record(oid, 1), None).unwrap();
        }
        assert_eq!(pushes.record(record(1_000_000, 1), None), Err(Overflow));
        assert_eq!(pushes.record(record(0, 2), None), Ok(()));
    }
}
