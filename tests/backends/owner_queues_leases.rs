//! The promises of [`OwnerQueues`](heartline::storage::owner_queues::OwnerQueues) about leases that come with something
//! else: with an append, or with the end of another lease. A store may give them or not.

use std::sync::Arc;
use std::time::Duration;

use heartline::model::subscribers::{Failing, PauseReason, State, Status};
use heartline::storage::event_bus::Offset;
use heartline::storage::event_bus::part::Part;
use heartline::storage::owner_queues::{
    Appended, Change, Done, Ended, Given, Limit, Line, Offer, Revision, Subscription, Taken, Wanted,
};

use crate::backends::owner_queues::{LEASE, Queue, QueuesBackend, ROOMY, all_done, offsets, part, subscriber, told};
use crate::backends::requests::wait;

pub fn subscription(queue: &Queue) -> Arc<Subscription> {
    let all = wait(queue.all.subscriptions(Revision::default())).unwrap();
    let found = all.changed.into_iter().filter(|(id, _)| *id == queue.id).find_map(|(_, now)| now);
    Arc::new(found.unwrap())
}

pub fn wanted(part: Part, by: &Arc<Subscription>, offsets: impl IntoIterator<Item = Offset>) -> Wanted {
    let event = |offset| (offset, format!("{{\"n\":{offset}}}").into(), by.clone());
    (part, offsets.into_iter().map(event).collect())
}

pub fn append_and_take(queue: &Queue, parts: Vec<Wanted>, leases: usize) -> (Appended, Given) {
    let (appended, given) = wait(queue.all.append_and_take(parts, Offer { leases, lease: LEASE }));
    (appended.unwrap(), given)
}

fn append(queue: &Queue, offsets: impl IntoIterator<Item = Offset>) -> Option<Taken> {
    append_and_take(queue, vec![wanted(part(), &subscription(queue), offsets)], 4).1.taken.pop()
}

fn done_and_take(queue: &Queue, taken: &Taken, done: Done) -> Option<Taken> {
    wait(queue.all.done_and_take(queue.id.clone(), taken.fence, done, Some(LEASE))).unwrap().taken.pop()
}

pub fn an_owner_that_had_nothing_may_be_leased_with_its_events<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    let first = append(&queue, [1, 2]).or_else(|| queue.take()).unwrap();
    assert_eq!((told(&first), first.owner.clone()), (vec![1, 2], queue.id.clone()));
    assert!(queue.take().is_none(), "it is leased");
    assert!(append(&queue, [2, 3]).is_none() && queue.take().is_none(), "likewise");
    assert_eq!(queue.done(&first, all_done(&first)), Ended::Done);
    assert_eq!((queue.drained(), queue.owner().delivered), (vec![3], 3));
    let again = append(&queue, [3, 4]).or_else(|| queue.take()).unwrap();
    assert_eq!(told(&again), [4], "one was there already");
    assert!(again.fence > first.fence && again.entries[0].number > first.entries[1].number);
    assert_eq!(queue.done(&first, all_done(&first)), Ended::Fenced);
}

pub fn an_append_leases_no_owner_that_is_not_due<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.change(Change::Pause);
    assert!(append(&queue, [1]).is_none() && queue.take().is_none(), "it is paused");
    queue.change(Change::Resume);
    let taken = queue.take().unwrap();
    let later = Done { delivered_to: None, delivered: 0, pause: LEASE, ..all_done(&taken) };
    assert!(done_and_take(&queue, &taken, later).is_none());
    assert!(append(&queue, [2]).is_none() && queue.take().is_none(), "its next try is later");
    queue.change(Change::Resume);
    assert_eq!(queue.drained(), [1, 2]);
    let lost = append(&queue, [3]).or_else(|| queue.take()).unwrap();
    queue.change(Change::Replay { after: offsets(&[]) });
    assert!(append(&queue, [4]).is_none() && queue.take().is_none(), "it is being filled");
    assert_eq!(queue.done(&lost, all_done(&lost)), Ended::Fenced);
}

pub fn a_lease_that_comes_with_an_append_has_the_present_definition<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    let before = subscription(&queue);
    queue.change(Change::Put { subscriber: subscriber("other"), ends: offsets(&[]) });
    let given = append_and_take(&queue, vec![wanted(part(), &before, [1])], 1).1.taken.pop();
    let taken = given.or_else(|| queue.take()).unwrap();
    assert_eq!(taken.subscriber, subscriber("other"));
    assert_eq!(queue.done(&taken, all_done(&taken)), Ended::Done);
    let failing = append(&queue, [2]).or_else(|| queue.take()).unwrap();
    assert_eq!((failing.subscriber, failing.status), (subscriber("other"), Status::default()));
}

pub fn what_is_left_may_come_with_the_end_of_a_lease<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append(1..=150);
    let first = queue.take().unwrap();
    let half = Done { delivered_to: Some(first.entries[49].number), delivered: 50, ..all_done(&first) };
    let second = done_and_take(&queue, &first, half).or_else(|| queue.take()).unwrap();
    assert_eq!(told(&second), (51..=150).collect::<Vec<_>>());
    assert!(second.fence > first.fence && queue.take().is_none());
    assert!(done_and_take(&queue, &second, all_done(&second)).is_none(), "there is no more");
    assert_eq!((queue.owner().depth, queue.owner().delivered), (0, 150));
    queue.append([151, 152]);
    let third = queue.take().unwrap();
    queue.change(Change::Pause);
    let one = Done { delivered_to: Some(third.entries[0].number), delivered: 1, ..all_done(&third) };
    assert!(done_and_take(&queue, &third, one).is_none() && queue.take().is_none(), "it is paused");
    assert_eq!(queue.owner().status.state, State::Paused(PauseReason::Requested));
    queue.change(Change::Resume);
    assert_eq!(queue.drained(), [152]);
    assert!(
        wait(queue.all.take(Limit::of(1), Duration::from_secs(1))).unwrap().next.is_none(),
        "it left the control queue"
    );
}

/// The owners that are leased, of whichever line.
fn leased(queue: &Queue, limit: Limit) -> Vec<Taken> {
    let mut taken = wait(queue.all.take(limit, LEASE)).unwrap().taken;
    taken.sort_by(|one, other| one.owner.cmp(&other.owner));
    taken
}

fn names(taken: &[Taken]) -> Vec<String> {
    taken.iter().map(|taken| taken.owner.to_string()).collect()
}

fn end(queue: &Queue, taken: Vec<Taken>, done: impl Fn(&Taken) -> Done) {
    for taken in taken {
        assert_eq!(wait(queue.all.done(taken.owner.clone(), taken.fence, done(&taken))).unwrap(), Ended::Done);
    }
}

pub fn owners_whose_last_try_failed_or_was_slow_wait_in_a_line_of_their_own<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queues: Vec<_> = ["a", "b", "c", "d"].iter().map(|name| Queue::made(&backend, name)).collect();
    let (all, last) = (Limit::of(9), &queues[3]);
    for queue in &queues {
        queue.append([1, 2]);
    }
    let taken = leased(last, all);
    assert!(taken.iter().all(|taken| taken.line == Line::Quick) && taken.len() == 4);
    // The first fails and is due again at once, two are slow, the last is neither.
    end(last, taken, |taken| {
        let one = Done { delivered_to: Some(taken.entries[0].number), delivered: 1, ..all_done(taken) };
        let failed = Status { failing: Some(Failing { since: 5, tries: 1 }), ..Status::default() };
        match taken.owner.as_str() {
            "a" => Done { delivered_to: None, delivered: 0, status: failed, ..one },
            "d" => one,
            _ => Done { slow: true, ..one },
        }
    });
    let only_quick = wait(last.all.take(Limit { all: 9, slow: 0 }, LEASE)).unwrap();
    assert_eq!(names(&only_quick.taken), ["d"]);
    assert!(only_quick.next.is_none_or(|next| !next.is_zero()), "what it may not have is not due to it");
    end(last, only_quick.taken, all_done);
    let some = leased(last, Limit { all: 9, slow: 2 });
    assert!(some.len() == 2 && some.iter().all(|taken| taken.line == Line::Slow), "{:?}", names(&some));
    let rest = leased(last, all);
    assert_eq!((rest.len(), rest[0].line), (1, Line::Slow));
    // A try that is quick brings it back.
    end(last, some, all_done);
    end(last, rest, all_done);
    for queue in &queues {
        queue.append([3]);
    }
    let taken = leased(last, Limit { all: 9, slow: 0 });
    assert_eq!(names(&taken), ["a", "b", "c", "d"]);
    end(last, taken, |taken| Done { slow: true, ..all_done(taken) });
    queues[0].append([4]);
    assert!(leased(last, Limit { all: 9, slow: 0 }).is_empty(), "it had nothing queued, and is still known to be slow");
    queues[0].change(Change::Resume);
    assert_eq!(names(&leased(last, Limit { all: 9, slow: 0 })), ["a"], "the API gives it another chance");
}

pub fn an_append_leases_no_owner_of_the_slow_line<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1]);
    let taken = queue.take().unwrap();
    assert!(done_and_take(&queue, &taken, Done { slow: true, ..all_done(&taken) }).is_none());
    assert!(append(&queue, [2]).is_none());
    let taken = queue.take().unwrap();
    assert_eq!(taken.line, Line::Slow);
    queue.append([3]);
    let slow = Done { slow: true, ..all_done(&taken) };
    assert!(done_and_take(&queue, &taken, slow).is_none(), "it goes to the end of its line");
    assert_eq!(queue.drained(), [3]);
}
