//! How the owner of a mailbox learns that something lies in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Rung at most once between two looks into the mailbox.
#[derive(Debug)]
pub enum Bell {
    /// Of one who waits for nothing else.
    Own(Arc<Notify>),
    /// Of one among many who are looked after together: his seat.
    Board(Arc<Board>, usize),
}

/// The bells of all connections of one thread: whoever looks after them is woken once, however many ring meanwhile.
///
/// Bounded by the connections: each rings at most once until it is looked after.
#[derive(Debug, Default)]
pub struct Board {
    rung: Mutex<Vec<usize>>,
    wake: Notify,
}

impl Bell {
    pub fn ring(&self) {
        match self {
            Bell::Own(wake) => wake.notify_one(),
            Bell::Board(board, seat) => board.ring(*seat),
        }
    }
}

impl Board {
    fn ring(&self, seat: usize) {
        let mut rung = self.lock();
        rung.push(seat);
        let first = rung.len() == 1;
        drop(rung);
        if first {
            self.wake.notify_one();
        }
    }

    /// Waits until somebody rings, and moves all who rang to `seats`, in their order.
    pub async fn rung(&self, seats: &mut Vec<usize>) {
        loop {
            seats.append(&mut self.lock());
            if !seats.is_empty() {
                return;
            }
            self.wake.notified().await;
        }
    }

    /// Nothing that could panic runs under the lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.rung.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    #[test]
    fn all_who_rang_are_found_at_once() {
        let (board, mut seats) = (Arc::new(Board::default()), Vec::new());
        let bell = |seat| Bell::Board(board.clone(), seat);
        [3, 1].into_iter().for_each(|seat| bell(seat).ring());
        assert_eq!(board.rung(&mut seats).now_or_never(), Some(()));
        assert_eq!(seats, [3, 1]);
        seats.clear();
        assert_eq!(board.rung(&mut seats).now_or_never(), None);
        bell(2).ring();
        assert_eq!(board.rung(&mut seats).now_or_never(), Some(()));
        assert_eq!(seats, [2]);
    }
}
