//! The control queue and the leases, in memory: both are of this process alone.
//!
//! 200 bytes for each owner that has events or had a lease lately; nothing for the others.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use crate::model::subscribers::SubscriberId;
use crate::storage::owner_queues::{Fence, Version};

/// How long a lease is remembered after its end, so that it may still be ended under its fence.
const REMEMBERED: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Control {
    order: BTreeSet<(Instant, SubscriberId)>,
    due: HashMap<SubscriberId, Instant>,
    leases: HashMap<SubscriberId, Lease>,
    fence: Fence,
}

/// The last one of an owner.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub fence: Fence,
    /// Of the owner when it was given.
    pub version: Version,
    pub end: Instant,
    /// The queue is another one now.
    pub is_void: bool,
    /// It was ended under its fence.
    pub is_ended: bool,
}

impl Control {
    /// Leases of an earlier process have ended with it; what it did is no longer recognised.
    pub fn new() -> Self {
        Control { fence: rand::random::<u32>().into(), ..Control::default() }
    }

    /// Puts the owner in, unless it is there.
    pub fn enter(&mut self, id: &SubscriberId, due: Instant) {
        if !self.due.contains_key(id) {
            self.put(id, due);
        }
    }

    /// Due at this time, whether it was there or not; not before a lease that was given has ended.
    pub fn put_after_lease(&mut self, id: &SubscriberId, due: Instant) {
        let end = self.leases.get(id).map(|lease| lease.end);
        self.put(id, end.map_or(due, |end| end.max(due)));
    }

    /// Like [`enter`](Self::enter), but not before a lease that was given has ended.
    pub fn enter_after_lease(&mut self, id: &SubscriberId, due: Instant) {
        if !self.due.contains_key(id) {
            self.put_after_lease(id, due);
        }
    }

    pub fn put(&mut self, id: &SubscriberId, due: Instant) {
        self.leave(id);
        self.order.insert((due, id.clone()));
        self.due.insert(id.clone(), due);
    }

    pub fn leave(&mut self, id: &SubscriberId) {
        if let Some(due) = self.due.remove(id) {
            self.order.remove(&(due, id.clone()));
        }
    }

    /// Those that are due, the longest due first.
    pub fn due(&self, now: Instant, limit: usize) -> Vec<SubscriberId> {
        let due = self.order.iter().take_while(|(due, _)| *due <= now);
        due.take(limit).map(|(_, id)| id.clone()).collect()
    }

    /// When the first is due.
    pub fn first(&self) -> Option<Instant> {
        self.order.first().map(|(due, _)| *due)
    }

    /// Moves the time when it is due on by the lease.
    pub fn lease(&mut self, id: &SubscriberId, version: Version, end: Instant) -> Fence {
        self.fence += 1;
        self.put(id, end);
        self.leases.insert(id.clone(), Lease { fence: self.fence, version, end, is_void: false, is_ended: false });
        self.fence
    }

    pub fn lease_of(&self, id: &SubscriberId) -> Option<Lease> {
        self.leases.get(id).copied()
    }

    /// What is done under a lease that was given changes nothing any more. How long a try may still begin.
    pub fn void(&mut self, id: &SubscriberId, now: Instant) -> Duration {
        let Some(lease) = self.leases.get_mut(id) else { return Duration::ZERO };
        lease.is_void = true;
        lease.end.saturating_duration_since(now)
    }

    pub fn leased_for(&self, id: &SubscriberId, now: Instant) -> Duration {
        self.leases.get(id).map_or(Duration::ZERO, |lease| lease.end.saturating_duration_since(now))
    }

    /// Nothing begins under it any more.
    pub fn end_lease(&mut self, id: &SubscriberId, now: Instant) {
        if let Some(lease) = self.leases.get_mut(id) {
            lease.end = lease.end.min(now);
            lease.is_ended = true;
        }
    }

    pub fn forget_old_leases(&mut self, now: Instant) {
        self.leases.retain(|_, lease| lease.end + REMEMBERED > now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> SubscriberId {
        name.parse().expect("it is an id")
    }

    #[test]
    fn the_longest_due_comes_first_and_an_entry_stays_where_it_is() {
        let (mut control, now) = (Control::new(), Instant::now());
        let at = |ms| now + Duration::from_millis(ms);
        control.enter(&id("a"), at(20));
        control.enter(&id("b"), at(10));
        control.enter(&id("a"), at(0));
        assert_eq!(control.due(at(15), 9), [id("b")]);
        assert_eq!(control.due(at(20), 9), [id("b"), id("a")]);
        control.lease(&id("b"), 1, at(100));
        assert_eq!((control.due(at(20), 9), control.first()), (vec![id("a")], Some(at(20))));
        control.leave(&id("a"));
        assert_eq!(control.first(), Some(at(100)));
    }

    #[test]
    fn an_owner_under_a_lease_is_not_due_before_its_end() {
        let (mut control, now) = (Control::new(), Instant::now());
        let end = now + Duration::from_secs(1);
        let fence = control.lease(&id("a"), 1, end);
        control.leave(&id("a"));
        control.put_after_lease(&id("a"), now);
        assert_eq!(control.first(), Some(end));
        control.end_lease(&id("a"), now);
        assert_eq!(control.leased_for(&id("a"), now), Duration::ZERO);
        control.put_after_lease(&id("a"), now);
        assert_eq!(control.first(), Some(now));
        assert!(control.lease(&id("a"), 1, end) > fence);
    }
}
