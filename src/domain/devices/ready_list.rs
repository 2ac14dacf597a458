//! Wakes the owner of an inbox that is not empty.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Notified at most once between two looks into the inbox.
#[derive(Debug)]
pub enum Notifier {
    /// Wakes a task that waits for this inbox alone.
    Own(Arc<Notify>),
    /// Wakes the task that serves all connections of the list; the number is that of the connection in the list.
    ReadyList(Arc<ReadyList>, usize),
}

/// The connections of one thread whose inboxes are not empty. The thread is woken once, however many notify meanwhile.
///
/// Bounded by the connections: each is in the list at most once until it is served.
#[derive(Debug, Default)]
pub struct ReadyList {
    ready: Mutex<Vec<usize>>,
    wake: Notify,
}

impl Notifier {
    pub fn notify(&self) {
        match self {
            Notifier::Own(wake) => wake.notify_one(),
            Notifier::ReadyList(list, number) => list.notify(*number),
        }
    }
}

impl ReadyList {
    fn notify(&self, number: usize) {
        let mut ready = self.lock();
        ready.push(number);
        let first = ready.len() == 1;
        drop(ready);
        if first {
            self.wake.notify_one();
        }
    }

    /// Waits until an inbox is not empty, and moves the numbers of all such connections to `numbers`, in order.
    pub async fn ready(&self, numbers: &mut Vec<usize>) {
        loop {
            numbers.append(&mut self.lock());
            if !numbers.is_empty() {
                return;
            }
            self.wake.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.ready.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn all_ready_numbers_are_returned_together() {
        let (list, mut numbers) = (Arc::new(ReadyList::default()), Vec::new());
        let notifier = |number| Notifier::ReadyList(list.clone(), number);
        [3, 1].into_iter().for_each(|number| notifier(number).notify());
        assert_eq!(list.ready(&mut numbers).now_or_never(), Some(()));
        assert_eq!(numbers, [3, 1]);
        numbers.clear();
        assert_eq!(list.ready(&mut numbers).now_or_never(), None);
        notifier(2).notify();
        assert_eq!(list.ready(&mut numbers).now_or_never(), Some(()));
        assert_eq!(numbers, [2]);
    }
}
