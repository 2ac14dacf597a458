//! How the owner of an inbox learns that it is not empty.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

/// Notified at most once between two looks into the inbox.
#[derive(Debug)]
pub enum Notifier {
    /// A task that waits for this inbox alone.
    Own(Arc<Notify>),
    /// Of one among many who are looked after together: his number.
    ReadyList(Arc<ReadyList>, usize),
}

/// The connections of one thread whose inboxes have something. The thread is woken once, however many notify meanwhile.
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

    /// Waits until an inbox has something, and moves the numbers of all that have to `numbers`, in their order.
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
    fn all_that_are_ready_are_found_at_once() {
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
