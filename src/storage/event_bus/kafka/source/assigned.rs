//! The partitions of a member, and what it has read of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::storage::event_bus::Offset;

/// Messages that are read and not handed over, of each partition that is assigned.
#[derive(Default)]
pub struct Assigned(Mutex<BTreeMap<i32, Waiting>>);

/// What was read of one partition.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub partition: i32,
    pub events: Vec<(Offset, Arc<str>)>,
    /// The last message; it may be no event.
    pub to: Offset,
}

#[derive(Default)]
struct Waiting {
    events: Vec<(Offset, Arc<str>)>,
    /// The last message; it may be no event.
    to: Offset,
    messages: usize,
    bytes: usize,
}

/// What was read and not handed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub messages: usize,
    /// Of their events.
    pub bytes: usize,
}

impl Assigned {
    pub fn assign(&self, partitions: impl IntoIterator<Item = i32>) {
        self.0.lock().extend(partitions.into_iter().map(|partition| (partition, Waiting::default())));
    }

    /// What was read of them is read again by another member.
    pub fn revoke(&self, partitions: impl IntoIterator<Item = i32>) {
        let mut all = self.0.lock();
        partitions.into_iter().for_each(|partition| drop(all.remove(&partition)));
    }

    pub fn has(&self, partition: i32) -> bool {
        self.0.lock().contains_key(&partition)
    }

    /// A message, and the event that it is, if it is one.
    pub fn read(&self, partition: i32, offset: Offset, event: Option<Arc<str>>) {
        if let Some(waiting) = self.0.lock().get_mut(&partition) {
            waiting.to = offset;
            waiting.messages += 1;
            waiting.bytes += event.as_ref().map_or(0, |event| event.len());
            waiting.events.extend(event.map(|event| (offset, event)));
        }
    }

    pub fn held(&self) -> Held {
        self.0.lock().values().fold(Held::default(), |held, waiting| Held {
            messages: held.messages + waiting.messages,
            bytes: held.bytes + waiting.bytes,
        })
    }

    /// All that was read of the partition of which most was read.
    pub fn take(&self) -> Option<Batch> {
        let mut all = self.0.lock();
        let (partition, waiting) = all.iter_mut().max_by_key(|(_, waiting)| waiting.messages)?;
        let Waiting { events, to, messages, .. } = std::mem::take(waiting);
        (messages > 0).then_some(Batch { partition: *partition, events, to })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_handed_over_once_and_by_partition() {
        let assigned = Assigned::default();
        assigned.assign([0, 1]);
        for (partition, offset) in [(0, 5), (1, 7), (1, 8), (2, 1)] {
            assigned.read(partition, offset, (offset != 8).then(|| format!("{offset}").into()));
        }
        assert_eq!(assigned.held(), Held { messages: 3, bytes: 2 }, "another's partition is not read");
        assert_eq!(assigned.take(), Some(Batch { partition: 1, events: vec![(7, "7".into())], to: 8 }));
        assert_eq!(assigned.take(), Some(Batch { partition: 0, events: vec![(5, "5".into())], to: 5 }));
        assert_eq!(assigned.take(), None);
    }

    #[test]
    fn nothing_is_left_of_a_partition_that_was_given_up() {
        let assigned = Assigned::default();
        assigned.assign([0]);
        assigned.read(0, 1, Some("a".into()));
        assigned.revoke([0]);
        assert_eq!((assigned.take(), assigned.has(0)), (None, false));
    }
}
