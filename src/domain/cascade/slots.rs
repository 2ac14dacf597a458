//! Slots for owners that are delivered to at the same time.
//!
//! An owner from the slow line takes one of the slow slots, too: a third of all. An owner of unknown speed may
//! turn out to be slow: its turn steps aside, and its slot is free for another. So owners that are quick wait for slow
//! ones only as long as it takes to find out, however many come at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use storage::owner_queues::{Limit, Line};

/// Turns that have stepped aside, at most; and no more than four times the slots.
const ASIDE_MAX: u32 = 1_024;

/// Owners that are delivered to at the same time.
pub struct Slots {
    free: Group,
    slow: Group,
    aside: Group,
}

/// Permits, and how many there are.
struct Group {
    free: Arc<Semaphore>,
    all: u32,
}

/// Slots reserved for turns. Dropping this releases the unused ones.
pub struct Kept {
    all: Option<OwnedSemaphorePermit>,
    slow: Option<OwnedSemaphorePermit>,
}

/// The slot of one turn; free again when this is dropped.
pub struct Slot {
    held: Option<OwnedSemaphorePermit>,
    slow: Option<OwnedSemaphorePermit>,
}

impl Group {
    fn new(all: u32) -> Self {
        Group { free: Arc::new(Semaphore::new(all as usize)), all }
    }

    /// At most so many.
    fn keep(&self, limit: usize) -> Option<OwnedSemaphorePermit> {
        let count = self.free.available_permits().min(limit) as u32;
        self.free.clone().try_acquire_many_owned(count).ok()
    }
}

impl Slots {
    pub fn new(all: usize) -> Self {
        let all = u32::try_from(all).unwrap_or(u32::MAX).min(Semaphore::MAX_PERMITS as u32);
        let aside = all.saturating_mul(4).min(ASIDE_MAX);
        Slots { free: Group::new(all), slow: Group::new((all / 3).max(1)), aside: Group::new(aside) }
    }

    /// At most so many for owners of the quick line, and none if none is free.
    pub fn keep(&self, limit: usize) -> Kept {
        Kept { all: self.free.keep(limit), slow: None }
    }

    /// At most so many for owners of both lines, once one is free.
    pub async fn wait(&self, limit: usize) -> Kept {
        let first = self.free.free.clone().acquire_owned().await.ok();
        let more = self.free.keep(limit - 1);
        let mut all = first;
        if let (Some(all), Some(more)) = (&mut all, more) {
            all.merge(more);
        }
        Kept { all, slow: self.slow.keep(limit) }
    }

    pub fn are_full(&self) -> bool {
        self.free.free.available_permits() == 0
    }

    /// A turn that takes long gives its slot back, if there is room beside.
    pub fn step_aside(&self, slot: &mut Slot) {
        if let (None, Ok(aside)) = (&slot.slow, self.aside.free.clone().try_acquire_owned()) {
            drop(slot.held.replace(aside));
        }
    }

    /// Until no turn runs, for at most so long.
    pub async fn empty(&self, at_most: Duration) {
        let all = async {
            for group in [&self.free, &self.aside] {
                let _ = group.free.acquire_many(group.all).await;
            }
        };
        let _ = timeout(at_most, all).await;
    }
}

impl Kept {
    /// One of them, for a turn of its own.
    pub fn split(&mut self, line: Line) -> Slot {
        let one = |of: &mut Option<OwnedSemaphorePermit>| of.as_mut().and_then(|of| of.split(1));
        let slow = if line == Line::Slow { one(&mut self.slow) } else { None };
        Slot { held: one(&mut self.all), slow }
    }

    pub fn limit(&self) -> Limit {
        let count = |of: &Option<OwnedSemaphorePermit>| of.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        Limit { all: count(&self.all), slow: count(&self.slow) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_third_of_the_slots_is_for_slow_owners() {
        let slots = Slots::new(6);
        let mut kept = slots.wait(9).await;
        assert_eq!(kept.limit(), Limit { all: 6, slow: 2 });
        let slow = [kept.split(Line::Slow), kept.split(Line::Slow)];
        drop(kept);
        let kept = slots.wait(9).await;
        assert_eq!(kept.limit(), Limit { all: 4, slow: 0 });
        drop((kept, slow));
        assert_eq!(slots.wait(9).await.limit(), Limit { all: 6, slow: 2 });
        assert_eq!(Slots::new(1).wait(9).await.limit(), Limit { all: 1, slow: 1 });
    }

    #[tokio::test]
    async fn a_turn_that_takes_long_leaves_its_slot_to_others_within_a_bound() {
        let slots = Slots::new(1);
        let mut aside = Vec::new();
        for _ in 0..4 {
            let mut slot = slots.wait(1).await.split(Line::Quick);
            assert!(slots.are_full());
            slots.step_aside(&mut slot);
            assert!(!slots.are_full());
            aside.push(slot);
        }
        let mut slot = slots.wait(1).await.split(Line::Quick);
        slots.step_aside(&mut slot);
        assert!(slots.are_full(), "there is no room beside");
        drop(slot);
        let mut slot = slots.wait(1).await.split(Line::Slow);
        drop(aside);
        slots.step_aside(&mut slot);
        assert!(slots.are_full(), "one that was known to be slow has a slot of its own");
    }
}
