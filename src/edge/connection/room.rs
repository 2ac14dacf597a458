//! How many sockets there may be, from their upgrade on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Shared by all threads.
#[derive(Debug)]
pub struct Room {
    taken: AtomicUsize,
    max: usize,
}

/// Room for one socket, given back when dropped.
#[derive(Debug)]
pub struct Place(Arc<Room>);

impl Room {
    /// `max` sockets at a time; 0 = no limit.
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Room { taken: AtomicUsize::new(0), max: if max == 0 { usize::MAX } else { max } })
    }

    /// `None`: it is full.
    pub fn enter(self: &Arc<Self>) -> Option<Place> {
        let taken = self
            .taken
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < self.max).then_some(taken + 1));
        taken.is_ok().then(|| Place(self.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.taken.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_is_given_back_is_free_again() {
        let room = Room::new(2);
        let (one, _two) = (room.enter(), room.enter());
        assert!(one.is_some() && room.enter().is_none());
        drop(one);
        assert!(room.enter().is_some());
    }
}
