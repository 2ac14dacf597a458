//! The state shared by the reading thread and its users.

use std::collections::{BTreeMap, VecDeque};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::assigned::Assigned;
use storage::history_bus::source::{MessageRef, RawPack};

/// Messages that are read and not committed; no more are read then. With one that cannot be written, those after it
/// are committed and count until that one is, too.
const MESSAGES_MAX: usize = 16_384;

pub(super) struct Shared {
    state: Mutex<State>,
    /// Bytes that are read and not committed; no more are read then.
    bytes_max: usize,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    assigned: Assigned,
    waiting: VecDeque<RawPack>,
    lag: BTreeMap<i32, u64>,
    ends: bool,
}

impl Shared {
    pub fn new(bytes_max: usize) -> Self {
        Shared { state: Mutex::default(), bytes_max, arrived: Notify::new() }
    }

    pub fn assign(&self, partitions: impl IntoIterator<Item = i32>) {
        let mut state = self.state.lock();
        partitions.into_iter().for_each(|partition| state.assigned.assign(partition));
    }

    /// Delivers no more messages of these partitions.
    pub fn revoke(&self, partitions: impl IntoIterator<Item = i32>) {
        let mut state = self.state.lock();
        let State { assigned, waiting, lag, .. } = &mut *state;
        for partition in partitions {
            assigned.revoke(partition);
            lag.remove(&partition);
        }
        waiting.retain(|pack| assigned.has(pack.message_ref));
    }

    pub fn revoke_all(&self) {
        let all = self.state.lock().assigned.partitions();
        self.revoke(all);
    }

    pub fn read(&self, partition: i32, offset: i64, key: &[u8], bytes: &[u8]) {
        let mut state = self.state.lock();
        if let Some(message_ref) = state.assigned.read(partition, offset, bytes.len()) {
            state.waiting.push_back(RawPack { message_ref, key: key.to_vec(), bytes: bytes.to_vec() });
            self.arrived.notify_one();
        }
    }

    pub fn is_full(&self) -> bool {
        let assigned = &self.state.lock().assigned;
        assigned.bytes() >= self.bytes_max || assigned.messages() >= MESSAGES_MAX
    }

    /// Whether there is room enough to read on. It is not little, since the library fetches again after each pause.
    pub fn has_room(&self) -> bool {
        let assigned = &self.state.lock().assigned;
        assigned.bytes() <= self.bytes_max / 2 && assigned.messages() <= MESSAGES_MAX / 2
    }

    /// At least one message, when there is one.
    pub async fn next(&self, bytes_max: usize) -> Vec<RawPack> {
        loop {
            let arrived = self.arrived.notified();
            let some = self.take(bytes_max);
            if !some.is_empty() {
                return some;
            }
            arrived.await;
        }
    }

    fn take(&self, bytes_max: usize) -> Vec<RawPack> {
        let waiting = &mut self.state.lock().waiting;
        let (mut some, mut bytes) = (Vec::new(), 0);
        while let Some(pack) = waiting.pop_front_if(|pack| bytes == 0 || bytes + pack.bytes.len() <= bytes_max) {
            bytes += pack.bytes.len().max(1);
            some.push(pack);
        }
        some
    }

    pub fn commit(&self, message_refs: &[MessageRef]) {
        let mut state = self.state.lock();
        message_refs.iter().for_each(|message_ref| state.assigned.commit(*message_ref));
    }

    /// The offsets to commit of each partition, if they have changed since the last call.
    pub fn take_new(&self) -> Vec<(i32, i64)> {
        self.state.lock().assigned.take_new()
    }

    pub fn counts(&self, lag: BTreeMap<i32, u64>) {
        self.state.lock().lag = lag;
    }

    pub fn lag(&self) -> BTreeMap<i32, u64> {
        self.state.lock().lag.clone()
    }

    pub fn end(&self) {
        self.state.lock().ends = true;
    }

    pub fn ends(&self) -> bool {
        self.state.lock().ends
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// Holds at most 100 bytes, and has partitions 1 and 2.
    fn shared() -> Shared {
        let shared = Shared::new(100);
        shared.assign([1, 2]);
        shared
    }

    fn now(shared: &Shared, bytes_max: usize) -> Option<Vec<RawPack>> {
        match pin!(shared.next(bytes_max)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(packs) => Some(packs),
            Poll::Pending => None,
        }
    }

    fn message_refs(packs: &[RawPack]) -> Vec<(i32, i64)> {
        packs.iter().map(|pack| (pack.message_ref.partition, pack.message_ref.offset)).collect()
    }

    #[test]
    fn messages_are_delivered_up_to_the_bytes_asked_for_and_at_least_one() {
        let shared = shared();
        assert_eq!(now(&shared, 100), None);
        (0..4).for_each(|offset| shared.read(1, offset, b"7", &[0; 10]));
        assert_eq!(message_refs(&now(&shared, 1).expect("one")), [(1, 0)]);
        let more = now(&shared, 25).expect("two");
        assert_eq!(
            (message_refs(&more), more[0].key.as_slice(), more[0].bytes.len()),
            (vec![(1, 1), (1, 2)], &b"7"[..], 10)
        );
        assert_eq!(message_refs(&now(&shared, 100).expect("the last")), [(1, 3)]);
        // Nothing is a message, too.
        shared.read(2, 0, b"", b"");
        shared.read(2, 1, b"", b"");
        assert_eq!(message_refs(&now(&shared, 0).expect("one")), [(2, 0)]);
    }

    #[test]
    fn waiting_messages_of_a_revoked_partition_are_not_delivered() {
        let shared = shared();
        shared.read(1, 0, b"", &[0; 60]);
        shared.read(2, 0, b"", &[0; 40]);
        shared.counts([(1, 5), (2, 6)].into());
        assert!(shared.is_full());
        shared.revoke([1]);
        assert_eq!((shared.is_full(), shared.lag()), (false, [(2, 6)].into()));
        assert_eq!(message_refs(&now(&shared, 100).expect("of the other")), [(2, 0)]);
        shared.read(1, 1, b"", b"x");
        assert_eq!(now(&shared, 100), None);
    }

    #[test]
    fn a_full_buffer_reads_again_once_half_of_it_is_committed() {
        let shared = shared();
        (0..10).for_each(|offset| shared.read(1, offset, b"", &[0; 10]));
        let packs = now(&shared, 1000).expect("all");
        assert!(shared.is_full(), "though all are handed on");
        let message_refs: Vec<MessageRef> = packs.iter().map(|pack| pack.message_ref).collect();
        shared.commit(&message_refs[..4]);
        assert_eq!((shared.is_full(), shared.has_room(), shared.take_new()), (false, false, vec![(1, 4)]));
        shared.commit(&message_refs[4..5]);
        assert!(shared.has_room());
    }

    #[test]
    fn messages_behind_an_uncommitted_one_count_towards_the_bound() {
        let shared = shared();
        (0..MESSAGES_MAX as i64).for_each(|offset| shared.read(1, offset, b"", b""));
        let packs = now(&shared, usize::MAX).expect("all");
        let message_refs: Vec<MessageRef> = packs.iter().map(|pack| pack.message_ref).collect();
        shared.commit(&message_refs[1..]);
        assert!(shared.is_full());
        shared.commit(&message_refs[..1]);
        assert!(shared.has_room());
    }
}
