//! The partitions of a member, and what it has read of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::logs::Epoch;
use storage::event_bus::Offset;
use storage::event_bus::source::LogMark;

/// Messages that are read and not handed over, of each partition that is assigned.
#[derive(Default)]
pub struct Assigned(Mutex<BTreeMap<i32, Waiting>>);

/// The messages read of one partition.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub partition: i32,
    pub epoch: Epoch,
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
    /// The newest message that was read, whether it was handed over or not; and the newest that was.
    newest: Option<LogMark>,
    handed: Option<LogMark>,
    /// One that is known to be of this log. Where it was found, all that was read before is of this log, too; what was read
    /// since may be of another one, which was longer already.
    checked: Option<LogMark>,
    /// Which log it is, once that is known. Nothing is handed over before.
    epoch: Option<Epoch>,
    /// It was read from the right message on since it was assigned, or since another log was found.
    is_placed: bool,
}

/// The messages that were read and not handed over yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub messages: usize,
    /// The bytes of their events.
    pub bytes: usize,
}

impl Assigned {
    pub fn assign(&self, partitions: impl IntoIterator<Item = i32>) {
        self.0.lock().extend(partitions.into_iter().map(|partition| (partition, Waiting::default())));
    }

    /// Drops the messages read of these partitions: another member reads them again.
    pub fn revoke(&self, partitions: impl IntoIterator<Item = i32>) {
        let mut all = self.0.lock();
        partitions.into_iter().for_each(|partition| drop(all.remove(&partition)));
    }

    pub fn revoke_all(&self) {
        self.0.lock().clear();
    }

    pub fn has(&self, partition: i32) -> bool {
        self.0.lock().contains_key(&partition)
    }

    /// A message, and the event that it is, if it is one.
    pub fn read(&self, partition: i32, message: LogMark, event: Option<Arc<str>>) {
        if let Some(waiting) = self.0.lock().get_mut(&partition) {
            let offset = message.offset;
            // It begins anew: it may be another log.
            if waiting.newest.is_some_and(|newest| offset <= newest.offset) {
                *waiting = Waiting::default();
            }
            waiting.newest = Some(message);
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

    /// All that was read of the partition of which most was read, among those whose logs are known.
    pub fn take(&self) -> Option<Batch> {
        let mut all = self.0.lock();
        let known = all.iter_mut().filter_map(|(partition, waiting)| Some((*partition, waiting.epoch?, waiting)));
        let (partition, epoch, waiting) = known.max_by_key(|(.., waiting)| waiting.messages)?;
        let newest = waiting.newest;
        let checked = waiting.checked.or(newest);
        let Waiting { epoch: of_log, is_placed, .. } = *waiting;
        let rest = Waiting { newest, handed: newest, checked, epoch: of_log, is_placed, ..Waiting::default() };
        let Waiting { events, to, messages, .. } = std::mem::replace(waiting, rest);
        (messages > 0).then_some(Batch { partition, epoch, events, to })
    }

    /// A partition of which it is not known which log it is, whether something was read of it or not: an offset that was
    /// committed may be the end of another log.
    pub fn unknown(&self) -> Option<i32> {
        let all = self.0.lock();
        all.iter().find(|(_, waiting)| waiting.epoch.is_none()).map(|(partition, _)| *partition)
    }

    pub fn epoch(&self, partition: i32) -> Option<Epoch> {
        self.0.lock().get(&partition)?.epoch
    }

    /// Whether it is read from the right message on, if it is the same log as before.
    pub fn is_placed(&self, partition: i32) -> bool {
        self.0.lock().get(&partition).is_some_and(|waiting| waiting.is_placed)
    }

    /// It is this log, has this message, and is read from the right one on.
    pub fn is(&self, partition: i32, epoch: Epoch, mark: Option<LogMark>) {
        if let Some(waiting) = self.0.lock().get_mut(&partition) {
            (waiting.epoch, waiting.is_placed) = (Some(epoch), true);
            waiting.handed = waiting.handed.or(mark);
            waiting.checked = mark.or(waiting.checked);
        }
    }

    /// For each known log: the message to look for, and the newest one, which is of the log if the former is found.
    pub fn marks(&self) -> Vec<(i32, [LogMark; 2])> {
        let all = self.0.lock();
        let known = all.iter().filter(|(_, waiting)| waiting.epoch.is_some());
        known.filter_map(|(partition, waiting)| Some((*partition, [waiting.checked?, waiting.handed?]))).collect()
    }

    /// These [marks](Self::marks) are of the log, unless another one is being read meanwhile.
    pub fn has_checked(&self, partition: i32, [mark, newest]: [LogMark; 2]) {
        let mut all = self.0.lock();
        if let Some(waiting) = all.get_mut(&partition).filter(|waiting| waiting.checked == Some(mark)) {
            waiting.checked = Some(newest);
        }
    }

    /// It will be read from another message on.
    pub fn begin_again(&self, partition: i32) {
        if let Some(waiting) = self.0.lock().get_mut(&partition) {
            *waiting = Waiting::default();
        }
    }

    /// Whatever is read from now on may be of another log.
    pub fn doubt(&self) {
        self.0.lock().values_mut().for_each(|waiting| waiting.epoch = None);
    }

    /// A message that was handed over and is known to be of the log.
    pub fn checked(&self, partition: i32) -> Option<LogMark> {
        self.0.lock().get(&partition)?.checked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(offset: Offset) -> LogMark {
        LogMark { offset, hash: offset }
    }

    fn of_known(partitions: &[i32]) -> Assigned {
        let assigned = Assigned::default();
        assigned.assign(partitions.iter().copied());
        partitions.iter().for_each(|partition| assigned.is(*partition, 3, None));
        assigned
    }

    #[test]
    fn what_is_read_is_handed_over_once_and_by_partition() {
        let assigned = of_known(&[0, 1]);
        for (partition, offset) in [(0, 5), (1, 7), (1, 8), (2, 1)] {
            assigned.read(partition, message(offset), (offset != 8).then(|| format!("{offset}").into()));
        }
        assert_eq!(assigned.held(), Held { messages: 3, bytes: 2 }, "another's partition is not read");
        let batch = |partition, offset: Offset, to| {
            Some(Batch { partition, epoch: 3, events: vec![(offset, format!("{offset}").into())], to })
        };
        assert_eq!(assigned.take(), batch(1, 7, 8));
        assert_eq!((assigned.take(), assigned.take()), (batch(0, 5, 5), None));
        assert_eq!(assigned.checked(1), Some(message(8)));
    }

    #[test]
    fn what_was_read_since_the_last_look_does_not_tell_which_log_it_is() {
        let assigned = of_known(&[0]);
        for offset in [1, 2] {
            assigned.read(0, message(offset), None);
            assigned.take();
        }
        assert_eq!(assigned.marks(), [(0, [message(1), message(2)])]);
        assigned.has_checked(0, [message(1), message(2)]);
        assigned.read(0, message(3), None);
        assigned.take();
        assert_eq!((assigned.marks(), assigned.checked(0)), (vec![(0, [message(2), message(3)])], Some(message(2))));
    }

    #[test]
    fn nothing_is_left_of_a_partition_that_was_given_up() {
        let assigned = of_known(&[0]);
        assigned.read(0, message(1), Some("a".into()));
        assigned.revoke([0]);
        assert_eq!((assigned.take(), assigned.has(0)), (None, false));
    }

    #[test]
    fn nothing_is_handed_over_of_a_log_that_is_not_known() {
        let assigned = Assigned::default();
        assigned.assign([0]);
        assigned.read(0, message(1), Some("a".into()));
        assert_eq!((assigned.take(), assigned.unknown()), (None, Some(0)));
        assigned.is(0, 0, None);
        assert_eq!((assigned.unknown(), assigned.take().map(|batch| batch.to)), (None, Some(1)));
        // One that begins anew is to be looked at again, and so is all after a doubt.
        assigned.read(0, message(1), Some("b".into()));
        assert_eq!((assigned.take(), assigned.unknown()), (None, Some(0)));
        assigned.is(0, 1, Some(message(9)));
        assert_eq!(assigned.marks(), [(0, [message(9), message(9)])]);
        assert_eq!(assigned.take().map(|batch| batch.events), Some(vec![(1, "b".into())]));
        assigned.read(0, message(2), None);
        assigned.doubt();
        assert_eq!((assigned.take(), assigned.unknown()), (None, Some(0)));
        assert!(assigned.is_placed(0), "if it is the same log, it goes on");
        assigned.begin_again(0);
        assert_eq!((assigned.unknown(), assigned.checked(0), assigned.is_placed(0)), (Some(0), None, false));
    }
}
