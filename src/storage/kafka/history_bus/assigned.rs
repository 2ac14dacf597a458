//! The partitions assigned to this reader: their messages read, and which of these are committed.

use std::collections::BTreeMap;

use storage::history_bus::source::MessageRef;

#[derive(Debug, Default)]
pub(super) struct Assigned {
    partitions: BTreeMap<i32, Partition>,
    /// The term of the last assignment.
    term: u64,
    /// Bytes of messages that are not committed.
    bytes: usize,
    /// Messages from the first of each partition that is not committed, to the last that is read.
    messages: usize,
}

#[derive(Debug, Default)]
struct Partition {
    term: u64,
    /// The messages from the first that is not committed on, by their offsets.
    read: BTreeMap<i64, Message>,
    /// The offset to commit: after the last message up to which all are committed.
    next: Option<i64>,
    told: Option<i64>,
}

#[derive(Debug)]
enum Message {
    /// With its bytes.
    Read(usize),
    Committed,
}

impl Assigned {
    pub fn assign(&mut self, partition: i32) {
        self.revoke(partition);
        self.term += 1;
        self.partitions.insert(partition, Partition { term: self.term, ..Partition::default() });
    }

    pub fn revoke(&mut self, partition: i32) {
        let Some(partition) = self.partitions.remove(&partition) else { return };
        self.messages -= partition.read.len();
        self.bytes -= partition.read.values().map(Message::bytes).sum::<usize>();
    }

    pub fn partitions(&self) -> Vec<i32> {
        self.partitions.keys().copied().collect()
    }

    /// Takes note of a message. `None`: do not deliver it, because its partition is not assigned, or it was read
    /// before.
    pub fn read(&mut self, partition: i32, offset: i64, bytes: usize) -> Option<MessageRef> {
        let of = self.partitions.get_mut(&partition)?;
        let known = of.read.contains_key(&offset) || of.next.is_some_and(|next| offset < next);
        if known {
            return None;
        }
        of.read.insert(offset, Message::Read(bytes));
        self.messages += 1;
        self.bytes += bytes;
        Some(MessageRef { partition, offset, term: of.term })
    }

    /// Whether a message that was read is still to be delivered.
    pub fn has(&self, message_ref: MessageRef) -> bool {
        self.partitions.get(&message_ref.partition).is_some_and(|partition| partition.term == message_ref.term)
    }

    pub fn commit(&mut self, message_ref: MessageRef) {
        let Some(partition) = self.partitions.get_mut(&message_ref.partition).filter(|of| of.term == message_ref.term)
        else {
            return;
        };
        let Some(message) = partition.read.get_mut(&message_ref.offset) else { return };
        self.bytes -= message.bytes();
        *message = Message::Committed;
        while let Some(first) = partition.read.first_entry().filter(|first| matches!(first.get(), Message::Committed)) {
            partition.next = Some(first.key() + 1);
            first.remove();
            self.messages -= 1;
        }
    }

    /// The offsets to commit of each partition, if they have changed since the last call.
    pub fn take_new(&mut self) -> Vec<(i32, i64)> {
        let new = |(number, partition): (&i32, &mut Partition)| {
            let next = partition.next?;
            (partition.told.replace(next) != Some(next)).then_some((*number, next))
        };
        self.partitions.iter_mut().filter_map(new).collect()
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn messages(&self) -> usize {
        self.messages
    }
}

impl Message {
    fn bytes(&self) -> usize {
        match self {
            Message::Read(bytes) => *bytes,
            Message::Committed => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// One partition, of which these offsets are read, with ten bytes each.
    fn reading(offsets: &[i64]) -> (Assigned, Vec<MessageRef>) {
        let mut assigned = Assigned::default();
        assigned.assign(3);
        let message_refs = offsets.iter().map(|offset| assigned.read(3, *offset, 10).expect("a message")).collect();
        (assigned, message_refs)
    }

    #[test]
    fn an_offset_is_committed_only_after_all_before_it() {
        let (mut assigned, message_refs) = reading(&[5, 6, 9]);
        assigned.commit(message_refs[1]);
        assert_eq!((assigned.take_new(), assigned.messages(), assigned.bytes()), (vec![], 3, 20));
        assigned.commit(message_refs[0]);
        assert_eq!((assigned.take_new(), assigned.messages(), assigned.bytes()), (vec![(3, 7)], 1, 10));
        assert_eq!(assigned.take_new(), []);
        assigned.commit(message_refs[2]);
        assigned.commit(message_refs[2]);
        assert_eq!((assigned.take_new(), assigned.messages(), assigned.bytes()), (vec![(3, 10)], 0, 0));
    }

    #[test]
    fn messages_of_a_revoked_partition_are_forgotten() {
        let (mut assigned, message_refs) = reading(&[5]);
        assigned.revoke(3);
        assert_eq!((assigned.has(message_refs[0]), assigned.messages(), assigned.bytes()), (false, 0, 0));
        assert_eq!(assigned.read(3, 6, 10), None, "it is not read here");
        assigned.assign(3);
        assigned.commit(message_refs[0]);
        assert_eq!((assigned.has(message_refs[0]), assigned.take_new()), (false, vec![]));
        let again = assigned.read(3, 5, 10).expect("it is read again");
        assert!(assigned.has(again) && again != message_refs[0]);
        assigned.commit(message_refs[0]);
        assert_eq!(assigned.take_new(), []);
        assigned.commit(again);
        assert_eq!(assigned.take_new(), [(3, 6)]);
    }

    #[test]
    fn a_message_that_is_read_again_is_not_delivered_again() {
        let (mut assigned, message_refs) = reading(&[5, 6]);
        assigned.commit(message_refs[0]);
        assert_eq!([5, 6].map(|offset| assigned.read(3, offset, 10)), [None, None]);
        assert_eq!((assigned.messages(), assigned.bytes()), (1, 10));
    }

    proptest! {
        /// In any order of commits, the offset to commit has no uncommitted message before it.
        #[test]
        fn the_offset_to_commit_never_passes_an_uncommitted_message(order in Just((0..40_i64).collect::<Vec<_>>()).prop_shuffle(), looks in vec(any::<bool>(), 40)) {
            let (mut assigned, message_refs) = reading(&(0..40).collect::<Vec<_>>());
            let mut committed = std::collections::BTreeSet::new();
            let mut next = 0;
            for (offset, looks) in order.into_iter().zip(looks) {
                assigned.commit(message_refs[offset as usize]);
                committed.insert(offset);
                let first_missing = (0..).find(|offset| !committed.contains(offset)).expect("one of them");
                if looks {
                    let new = assigned.take_new();
                    prop_assert_eq!(new, if first_missing > next { vec![(3, first_missing)] } else { vec![] });
                    next = first_missing;
                }
                prop_assert_eq!(assigned.bytes(), 10 * (40 - committed.len()));
                prop_assert_eq!(assigned.messages() as i64, 40 - first_missing);
            }
        }
    }
}
