//! The changes that wait for the next call to one service.

use std::collections::VecDeque;

use parking_lot::Mutex;
use prost::Message;
use tokio::sync::{Notify, oneshot};

use storage::gateway_messages::wire::{Answer, Change};
use storage::hot_store::StoreError;

/// Changes that are worth a call at once.
const CALL_WORTH: usize = 128;
/// Changes and bytes of one call. A service takes up to 4 MiB.
const CHANGES_MAX: usize = 8_192;
const BYTES_MAX: usize = 2 << 20;

/// Changes that are sent and answered together.
pub struct Parcel {
    pub changes: Vec<Change>,
    bytes: usize,
    pub answer: oneshot::Sender<Result<Vec<Answer>, StoreError>>,
}

/// Where the answer to a parcel comes.
pub type Answered = oneshot::Receiver<Result<Vec<Answer>, StoreError>>;

/// Filled by committers, and emptied by one sender, which is woken only when there is something to do: waking a thread
/// costs more than the parcel. Bounded by the groups under way, one for each lane.
#[derive(Default)]
pub struct ParcelQueue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    parcels: VecDeque<Parcel>,
    changes: usize,
    is_closed: bool,
}

/// The state of the waiting changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waits {
    pub is_any: bool,
    /// It need not wait for more.
    pub is_worth: bool,
}

impl Parcel {
    /// Splits changes into parcels, so that no call is too long, each with the end at which its answer comes.
    pub fn pack(changes: Vec<Change>) -> Vec<(Parcel, Answered)> {
        let (mut parcels, mut open, mut bytes) = (Vec::new(), Vec::new(), 0);
        let mut close = |changes: &mut Vec<Change>, bytes: &mut usize| {
            let (answer, answered) = oneshot::channel();
            let parcel = Parcel { changes: std::mem::take(changes), bytes: std::mem::take(bytes), answer };
            parcels.push((parcel, answered));
        };
        for change in changes {
            let own = change.encoded_len();
            if !open.is_empty() && bytes + own > BYTES_MAX {
                close(&mut open, &mut bytes);
            }
            bytes += own;
            open.push(change);
        }
        if !open.is_empty() {
            close(&mut open, &mut bytes);
        }
        parcels
    }

    pub fn len(&self) -> usize {
        self.changes.len()
    }
}

impl ParcelQueue {
    /// Dropped after [`close`](Self::close): its answer is then an error.
    pub fn add(&self, parcel: Parcel) {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return;
        }
        let before = waiting.changes;
        waiting.changes += parcel.len();
        waiting.parcels.push_back(parcel);
        let wakes = before == 0 || (before < CALL_WORTH && waiting.changes >= CALL_WORTH);
        drop(waiting);
        if wakes {
            self.changed.notify_one();
        }
    }

    pub fn waits(&self) -> Waits {
        let waiting = self.waiting.lock();
        Waits { is_any: !waiting.parcels.is_empty(), is_worth: waiting.changes >= CALL_WORTH }
    }

    /// Until there is something, or enough.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// As many as one call takes, at least one if there is any.
    pub fn take(&self) -> Vec<Parcel> {
        let (mut waiting, mut taken) = (self.waiting.lock(), Vec::new());
        let (mut changes, mut bytes) = (0, 0);
        while let Some(next) = waiting.parcels.pop_front_if(|next| {
            changes == 0 || (changes + next.changes.len() <= CHANGES_MAX && bytes + next.bytes <= BYTES_MAX)
        }) {
            (changes, bytes) = (changes + next.len(), bytes + next.bytes);
            taken.push(next);
        }
        waiting.changes -= changes;
        taken
    }

    /// Nothing will be sent any more: what waits is answered with an error, and so is what comes.
    pub fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_closed = true;
        let dropped = std::mem::take(&mut waiting.parcels);
        drop(waiting);
        drop(dropped);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parcel(changes: usize) -> (Parcel, Answered) {
        let changes = (0..changes as u64).map(|mid| Change { mid, ..Change::default() }).collect();
        Parcel::pack(changes).pop().expect("one parcel")
    }

    fn lengths(parcels: &[Parcel]) -> Vec<usize> {
        parcels.iter().map(Parcel::len).collect()
    }

    #[test]
    fn a_call_takes_what_waits_up_to_its_limit() {
        let queue = ParcelQueue::default();
        assert_eq!(queue.waits(), Waits { is_any: false, is_worth: false });
        for changes in [1, CALL_WORTH, CHANGES_MAX] {
            queue.add(parcel(changes).0);
        }
        assert_eq!(queue.waits(), Waits { is_any: true, is_worth: true });
        assert_eq!(lengths(&queue.take()), [1, CALL_WORTH]);
        assert_eq!(lengths(&queue.take()), [CHANGES_MAX]);
        assert_eq!((lengths(&queue.take()), queue.waits().is_any), (vec![], false));
    }

    #[test]
    fn long_changes_are_split_among_parcels() {
        let device = "x".repeat(BYTES_MAX / 2);
        let changes = vec![Change { device, ..Change::default() }; 3];
        assert_eq!(Parcel::pack(changes).iter().map(|(parcel, _)| parcel.len()).collect::<Vec<_>>(), [1, 1, 1]);
    }

    #[tokio::test]
    async fn a_closed_queue_answers_with_errors() {
        let queue = ParcelQueue::default();
        let ((waiting, of_waiting), (late, of_late)) = (parcel(1), parcel(1));
        queue.add(waiting);
        queue.close();
        queue.add(late);
        assert!(of_waiting.await.is_err() && of_late.await.is_err());
    }

    #[tokio::test]
    async fn the_sender_is_woken_by_the_first_parcel_and_by_enough() {
        let queue = ParcelQueue::default();
        queue.add(parcel(1).0);
        queue.changed().await;
        queue.add(parcel(1).0);
        assert!(futures_util::poll!(Box::pin(queue.changed())).is_pending());
        queue.add(parcel(CALL_WORTH).0);
        queue.changed().await;
    }
}
