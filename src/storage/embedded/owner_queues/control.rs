//! The control queue and the leases, in memory: both are of this process alone.
//!
//! 200 bytes for each owner that has events or had a lease lately; nothing for the others.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::{Duration, Instant};

use model::subscribers::SubscriberId;
use storage::owner_queues::{Fence, Limit, Line, Version};

/// How long a lease is remembered after its end, so that it may still be ended under its fence.
const REMEMBERED: Duration = Duration::from_secs(60);

#[derive(Default)]
pub struct Control {
    quick: Order,
    slow: Order,
    /// Owners that wait in the slow line, whether they are due or not.
    slow_owners: HashSet<SubscriberId>,
    due: HashMap<SubscriberId, Instant>,
    leases: HashMap<SubscriberId, Lease>,
    fence: Fence,
}

type Order = BTreeSet<(Instant, SubscriberId)>;

/// The last one of an owner.
#[derive(Clone, Copy, Debug)]
pub struct Lease {
    pub fence: Fence,
    /// The owner's version when the lease was given.
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
        self.order(id).insert((due, id.clone()));
        self.due.insert(id.clone(), due);
    }

    pub fn leave(&mut self, id: &SubscriberId) {
        if let Some(due) = self.due.remove(id) {
            self.order(id).remove(&(due, id.clone()));
        }
    }

    pub fn line(&self, id: &SubscriberId) -> Line {
        if self.slow_owners.contains(id) { Line::Slow } else { Line::Quick }
    }

    /// It waits there from now on, until the same time as before.
    pub fn set_line(&mut self, id: &SubscriberId, line: Line) {
        if self.line(id) == line {
            return;
        }
        let due = self.due.get(id).copied();
        self.leave(id);
        match line {
            Line::Quick => self.slow_owners.remove(id),
            Line::Slow => self.slow_owners.insert(id.clone()),
        };
        due.into_iter().for_each(|due| self.put(id, due));
    }

    fn order(&mut self, id: &SubscriberId) -> &mut Order {
        match self.line(id) {
            Line::Quick => &mut self.quick,
            Line::Slow => &mut self.slow,
        }
    }

    /// Those that are due, the longest due first.
    pub fn due(&self, now: Instant, limit: Limit) -> Vec<SubscriberId> {
        let of = |order: &Order, limit| -> Vec<_> {
            order.iter().take_while(|(due, _)| *due <= now).take(limit).cloned().collect()
        };
        let mut due = of(&self.quick, limit.all);
        due.extend(of(&self.slow, limit.slow));
        due.sort_unstable();
        due.into_iter().take(limit.all).map(|(_, id)| id).collect()
    }

    /// When the first of a line is due.
    pub fn first(&self, line: Line) -> Option<Instant> {
        let order = match line {
            Line::Quick => &self.quick,
            Line::Slow => &self.slow,
        };
        order.first().map(|(due, _)| *due)
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

    /// Voids the owner's lease: steps under it change nothing any more. Returns for how long a try may still begin.
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
        assert_eq!(control.due(at(15), Limit::of(9)), [id("b")]);
        assert_eq!(control.due(at(20), Limit::of(9)), [id("b"), id("a")]);
        control.lease(&id("b"), 1, at(100));
        assert_eq!((control.due(at(20), Limit::of(9)), control.first(Line::Quick)), (vec![id("a")], Some(at(20))));
        control.leave(&id("a"));
        assert_eq!(control.first(Line::Quick), Some(at(100)));
    }

    #[test]
    fn the_slow_line_gives_no_more_than_it_may() {
        let (mut control, now) = (Control::new(), Instant::now());
        let at = |ms| now + Duration::from_millis(ms);
        for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
            control.put(&id(name), at(index as u64));
        }
        for name in ["a", "b", "c"] {
            control.set_line(&id(name), Line::Slow);
        }
        let due = |control: &Control, all, slow| {
            control.due(at(9), Limit { all, slow }).iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(due(&control, 4, 4), ["a", "b", "c", "d"]);
        assert_eq!(due(&control, 4, 1), ["a", "d"]);
        assert_eq!((due(&control, 1, 1), due(&control, 4, 0)), (vec!["a".to_owned()], vec!["d".to_owned()]));
        assert_eq!((control.first(Line::Quick), control.first(Line::Slow)), (Some(at(3)), Some(at(0))));
        control.set_line(&id("b"), Line::Quick);
        assert_eq!(
            (due(&control, 4, 0), control.first(Line::Quick)),
            (vec!["b".to_owned(), "d".to_owned()], Some(at(1)))
        );
        control.leave(&id("a"));
        assert_eq!(due(&control, 4, 4), ["b", "c", "d"]);
    }

    #[test]
    fn an_owner_under_a_lease_is_not_due_before_its_end() {
        let (mut control, now) = (Control::new(), Instant::now());
        let end = now + Duration::from_secs(1);
        let fence = control.lease(&id("a"), 1, end);
        control.leave(&id("a"));
        control.put_after_lease(&id("a"), now);
        assert_eq!(control.first(Line::Quick), Some(end));
        control.end_lease(&id("a"), now);
        assert_eq!(control.leased_for(&id("a"), now), Duration::ZERO);
        control.put_after_lease(&id("a"), now);
        assert_eq!(control.first(Line::Quick), Some(now));
        assert!(control.lease(&id("a"), 1, end) > fence);
    }
}
