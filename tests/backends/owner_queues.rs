//! The promises of [`OwnerQueues`], for all of its backends.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::subscribers::{
    EventType, Failing, Failure, FailureReason, Filter, Newer, PauseReason, Secrets, SigningSecret, State, Status,
    Subscriber, SubscriberId,
};
use heartline::storage::event_bus::Offset;
use heartline::storage::event_bus::part::{Offsets, Part};
use heartline::storage::owner_queues::{
    Append, Appended, Bounds, Change, Changed, Dead, Done, Ended, Limit, Owner, OwnerQueues, Revision, Taken, Version,
};

use crate::backends::PATIENCE;
use crate::backends::requests::wait;

pub const ROOMY: Bounds = Bounds { events: 100_000, bytes: 1 << 30, age: Duration::from_hours(24) };
pub const LEASE: Duration = Duration::from_secs(30);

pub trait QueuesBackend: Sized {
    fn empty(bounds: Bounds) -> Self;
    fn queues(&self) -> Arc<dyn OwnerQueues>;
    /// As after the end of the process.
    fn reopened(self) -> Self;
}

/// One owner's view of a backend.
pub struct Queue {
    pub all: Arc<dyn OwnerQueues>,
    pub id: SubscriberId,
}

pub fn id(name: &str) -> SubscriberId {
    name.parse().unwrap()
}

pub fn part() -> Part {
    Part::new("log")
}

pub fn offsets(of: &[(&str, Offset)]) -> Offsets {
    of.iter().map(|(part, offset)| (Part::new(*part), *offset)).collect()
}

pub fn subscriber(path: &str) -> Arc<Subscriber> {
    Arc::new(Subscriber {
        url: format!("https://example.com/{path}").parse().unwrap(),
        types: vec![EventType::Reward],
        filter: Filter::default(),
        batch: 1,
        secrets: Secrets::new(SigningSecret::of(vec![7; 32]).unwrap()),
        newer: Newer::default(),
    })
}

pub fn put(ends: &[(&str, Offset)]) -> Change {
    Change::Put { subscriber: subscriber("hook"), ends: offsets(ends) }
}

fn failing(tries: u32) -> Status {
    let failure = Failure { at: 5, status: Some(500), reason: FailureReason::Status };
    Status { failing: Some(Failing { since: 5, tries }), last_failure: Some(failure), ..Status::default() }
}

pub fn state(state: State) -> Status {
    Status { state, ..Status::default() }
}

pub fn all_done(taken: &Taken) -> Done {
    let (delivered_to, delivered) = (taken.entries.last().map(|entry| entry.number), taken.entries.len() as u64);
    Done { delivered_to, delivered, status: Status::default(), slow: false, pause: Duration::ZERO }
}

pub fn nothing_done(status: Status, pause: Duration) -> Done {
    Done { delivered_to: None, delivered: 0, status, slow: false, pause }
}

pub fn told(taken: &Taken) -> Vec<Offset> {
    taken.entries.iter().map(|entry| offset_of(&entry.event)).collect()
}

pub fn offset_of(event: &str) -> Offset {
    event.trim_start_matches("{\"n\":").trim_end_matches('}').parse().unwrap()
}

impl Queue {
    pub fn of(backend: &impl QueuesBackend, name: &str) -> Self {
        Queue { all: backend.queues(), id: id(name) }
    }

    /// With an owner that was just made, from the beginning of the log.
    pub fn made(backend: &impl QueuesBackend, name: &str) -> Self {
        let queue = Queue::of(backend, name);
        queue.change(put(&[]));
        queue
    }

    pub fn version(&self) -> Version {
        wait(self.all.owner(self.id.clone())).unwrap().0
    }

    pub fn owner(&self) -> Owner {
        wait(self.all.owner(self.id.clone())).unwrap().1.unwrap().unwrap()
    }

    pub fn change(&self, change: Change) -> Changed {
        wait(self.all.change(self.id.clone(), self.version(), change)).unwrap()
    }

    pub fn append(&self, offsets: impl IntoIterator<Item = Offset>) -> Appended {
        self.append_as(self.owner().incarnation, offsets)
    }

    pub fn append_as(&self, incarnation: Version, offsets: impl IntoIterator<Item = Offset>) -> Appended {
        let append = |offset| Append {
            owner: self.id.clone(),
            incarnation,
            offset,
            event: format!("{{\"n\":{offset}}}").into(),
        };
        wait(self.all.append(part(), offsets.into_iter().map(append).collect())).unwrap()
    }

    /// The lease of the owner that is due first.
    pub fn take(&self) -> Option<Taken> {
        self.take_for(LEASE)
    }

    pub fn take_for(&self, lease: Duration) -> Option<Taken> {
        wait(self.all.take(Limit::of(1), lease)).unwrap().taken.pop()
    }

    /// As soon as one is due.
    pub fn take_soon(&self) -> Taken {
        let began = Instant::now();
        loop {
            match self.take() {
                Some(taken) => return taken,
                None => assert!(began.elapsed() < PATIENCE, "nothing becomes due"),
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn done(&self, taken: &Taken, done: Done) -> Ended {
        wait(self.all.done(self.id.clone(), taken.fence, done)).unwrap()
    }

    pub fn dead(&self, after: u64, limit: usize) -> Vec<Dead> {
        wait(self.all.dead(self.id.clone(), after, limit)).unwrap().unwrap()
    }

    /// All that is queued, delivered.
    pub fn drained(&self) -> Vec<Offset> {
        let mut all = Vec::new();
        while self.owner().depth > 0 {
            let taken = self.take_soon();
            all.extend(told(&taken));
            assert_eq!(self.done(&taken, all_done(&taken)), Ended::Done);
        }
        all
    }
}

pub fn a_change_is_done_on_the_version_that_it_was_decided_on<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::of(&backend, "a");
    assert_eq!(queue.version(), 0);
    let missing = Changed::Missing { leased_for: Duration::ZERO };
    assert_eq!(queue.change(Change::Pause), missing);
    assert_eq!(queue.change(Change::Delete), missing);
    let Changed::Done { version: first, made: true, .. } = queue.change(put(&[])) else { panic!("it is made") };
    let Changed::Done { version: second, made: false, .. } = queue.change(Change::Pause) else { panic!("it is done") };
    assert!(second > first);
    let late = wait(queue.all.change(queue.id.clone(), first, Change::Resume)).unwrap();
    assert_eq!((late, queue.owner().status), (Changed::Moved(second), state(State::Paused(PauseReason::Requested))));
    queue.change(Change::Delete);
    let deleted = queue.version();
    assert!(deleted > second && wait(queue.all.owner(queue.id.clone())).unwrap().1.is_none());
    // A late PUT does not make it again.
    assert_eq!(wait(queue.all.change(queue.id.clone(), second, put(&[]))).unwrap(), Changed::Moved(deleted));
    let Changed::Done { version, made: true, .. } = queue.change(put(&[])) else { panic!("it is made again") };
    assert!(version > deleted && queue.owner().incarnation > first);
}

pub fn an_owner_is_as_it_was_put<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append(1..=3);
    let taken = queue.take().unwrap();
    queue.done(&taken, Done { delivered_to: Some(taken.entries[0].number), delivered: 1, ..all_done(&taken) });
    let secrets = Secrets::new(SigningSecret::of(vec![8; 32]).unwrap());
    let redefined = Arc::new(Subscriber { secrets, ..(*subscriber("other")).clone() });
    queue.change(Change::Redefine { subscriber: redefined.clone() });
    let owner = queue.owner();
    assert_eq!((owner.subscriber, owner.depth, owner.delivered), (redefined, 2, 1));
    assert!(owner.oldest.is_some() && owner.next_try.is_none() && !owner.replaying && owner.dead == 0);
}

pub fn an_event_is_queued_once_and_from_the_owners_time_on<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::of(&backend, "a");
    queue.change(put(&[("log", 5), ("other", 9)]));
    assert_eq!(queue.append([4, 5, 6, 7]), Appended { queued: 2, old: 2, ..Appended::default() });
    assert_eq!(queue.append([6, 7, 8]), Appended { queued: 1, old: 2, ..Appended::default() });
    let before = queue.owner().incarnation;
    assert_eq!(queue.drained(), [6, 7, 8]);
    queue.change(Change::Delete);
    assert_eq!(queue.append_as(before, [9]), Appended { left_out: 1, ..Appended::default() });
    queue.change(put(&[]));
    assert_eq!(queue.append_as(before, [9]), Appended { left_out: 1, ..Appended::default() });
    assert_eq!(queue.append([1]), Appended { queued: 1, ..Appended::default() }, "a new owner has a time of its own");
}

pub fn each_owner_has_a_queue_of_its_own<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queues: Vec<_> = (0..40).map(|n| Queue::made(&backend, &format!("owner-{n}"))).collect();
    for queue in &queues {
        queue.append(1..=3);
    }
    let all = backend.queues();
    let mut seen = 0;
    while seen < queues.len() {
        for taken in wait(all.take(Limit::of(7), LEASE)).unwrap().taken {
            assert_eq!(told(&taken), [1, 2, 3]);
            let queue = queues.iter().find(|queue| queue.id == taken.owner).unwrap();
            assert_eq!(queue.done(&taken, all_done(&taken)), Ended::Done);
            seen += 1;
        }
    }
    let due = wait(all.take(Limit::of(7), LEASE)).unwrap();
    assert!(due.taken.is_empty() && due.next.is_none(), "an owner without events is not due: {due:?}");
}

pub fn a_lease_holds_until_it_is_ended<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1, 2]);
    let first = queue.take().unwrap();
    assert_eq!(told(&first), [1, 2]);
    // Nothing brings it in earlier.
    queue.append([3]);
    queue.change(put(&[]));
    queue.change(Change::Resume);
    assert!(queue.take().is_none(), "it is leased");
    let one = Done { delivered_to: Some(first.entries[0].number), delivered: 1, ..all_done(&first) };
    assert_eq!(queue.done(&first, one), Ended::Done);
    let second = queue.take().unwrap();
    assert_eq!(told(&second), [2, 3]);
    assert!(second.fence > first.fence && second.entries[0].number > first.entries[0].number);
    assert_eq!(queue.done(&first, all_done(&first)), Ended::Fenced, "another lease was given");
    assert_eq!(queue.owner().depth, 2);
}

pub fn a_lease_that_was_not_ended_is_over_in_time<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1]);
    let (began, lease) = (Instant::now(), Duration::from_millis(1_500));
    let lost = queue.take_for(lease).unwrap();
    let next = wait(queue.all.take(Limit::of(1), lease)).unwrap().next.unwrap();
    assert!(next <= lease, "{next:?}");
    let again = queue.take_soon();
    assert!(began.elapsed() >= lease);
    assert_eq!((told(&again), queue.done(&lost, all_done(&lost))), (vec![1], Ended::Fenced));
    assert_eq!(queue.done(&again, all_done(&again)), Ended::Done);
}

pub fn what_was_delivered_goes_by_its_number<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 3, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    queue.append(1..=3);
    let taken = queue.take().unwrap();
    // Two of these three go to the dead letters meanwhile.
    assert_eq!(queue.append([4, 5]), Appended { queued: 2, died: 2, ..Appended::default() });
    assert_eq!(queue.done(&taken, all_done(&taken)), Ended::Done);
    assert_eq!(queue.drained(), [4, 5]);
}

pub fn a_failed_try_is_due_again_after_its_pause<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1]);
    let taken = queue.take().unwrap();
    queue.done(&taken, nothing_done(failing(1), Duration::from_secs(3_600)));
    let owner = queue.owner();
    assert_eq!(owner.status, failing(1));
    let next = owner.next_try.unwrap();
    assert!(next > Duration::from_secs(3_500) && next <= Duration::from_secs(3_600), "{next:?}");
    queue.append([2]);
    assert!(queue.take().is_none(), "an event does not bring it forward");
    queue.change(Change::Resume);
    assert_eq!((told(&queue.take().unwrap()), queue.owner().status.failing), (vec![1, 2], None));
}

pub fn a_replaced_owner_is_tried_at_once<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    for status in [failing(3), state(State::Disabled)] {
        queue.append([queue.owner().delivered + 1]);
        let taken = queue.take().unwrap();
        queue.done(&taken, nothing_done(status, Duration::from_secs(3_600)));
        assert!(queue.take().is_none());
        queue.change(put(&[]));
        assert_eq!(queue.owner().status, Status::default());
        assert_eq!(queue.drained().len(), 1);
    }
}

pub fn a_paused_owner_queues_and_is_not_due<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1]);
    queue.change(Change::Pause);
    assert!(queue.take().is_none());
    assert_eq!(queue.append([2]).queued, 1);
    queue.change(put(&[]));
    assert!(queue.take().is_none(), "it stays paused");
    assert_eq!(queue.owner().status.state, State::Paused(PauseReason::Requested));
    queue.change(Change::Resume);
    assert_eq!(queue.drained(), [1, 2]);
}

pub fn a_disabled_owner_queues_nothing<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1]);
    let taken = queue.take().unwrap();
    queue.done(&taken, nothing_done(state(State::Disabled), Duration::ZERO));
    assert_eq!(queue.append([2]), Appended { left_out: 1, ..Appended::default() });
    assert!(queue.take().is_none());
    queue.change(Change::Resume);
    assert_eq!(queue.append([3]).queued, 1);
    assert_eq!(queue.drained(), [1, 3]);
}

pub fn what_is_said_during_a_lease_stays<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append([1, 2]);
    let taken = queue.take().unwrap();
    queue.change(Change::Pause);
    let one = Done { delivered_to: Some(taken.entries[0].number), delivered: 1, ..all_done(&taken) };
    assert_eq!(queue.done(&taken, one), Ended::Done);
    let owner = queue.owner();
    assert_eq!((owner.status.state, owner.depth), (State::Paused(PauseReason::Requested), 1));
    assert!(queue.take().is_none());
}

pub fn a_deleted_owner_has_nothing_left_but_its_lease<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queue = Queue::made(&backend, "a");
    queue.append(1..=3);
    let taken = queue.take().unwrap();
    let Changed::Done { leased_for, .. } = queue.change(Change::Delete) else { panic!("it is deleted") };
    assert!(leased_for > Duration::from_secs(20) && leased_for <= LEASE, "{leased_for:?}");
    let Changed::Missing { leased_for } = queue.change(Change::Delete) else { panic!("it is gone") };
    assert!(leased_for > Duration::ZERO);
    queue.change(put(&[]));
    queue.append([1]);
    assert!(queue.take().is_none(), "a lease from before it was deleted still lasts");
    // The old worker ends it, and takes nothing away.
    assert_eq!(queue.done(&taken, all_done(&taken)), Ended::Fenced);
    let again = queue.take().expect("the old lease is over");
    assert_eq!(told(&again), [1]);
    assert!(again.fence > taken.fence && again.entries[0].number > taken.entries[2].number);
}

pub fn subscriptions_tell_what_has_changed<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let [a, b] = ["a", "b"].map(|name| Queue::made(&backend, name));
    let ask = |since: &Revision| {
        let told = wait(backend.queues().subscriptions(since.clone())).unwrap();
        let mut changed: Vec<_> =
            told.changed.into_iter().map(|(id, now)| (id.to_string(), now.map(|now| now.incarnation))).collect();
        changed.sort();
        (told.revision, changed)
    };
    let incarnation = |queue: &Queue| Some(queue.owner().incarnation);
    let (first, changed) = ask(&Revision::default());
    assert_eq!(changed, [("a".to_owned(), incarnation(&a)), ("b".to_owned(), incarnation(&b))]);
    assert_eq!(ask(&first), (first.clone(), vec![]));
    a.append([1]);
    assert_eq!(ask(&first).1, [], "events change nothing");
    a.change(put(&[]));
    b.change(Change::Delete);
    let (second, changed) = ask(&first);
    assert_eq!(changed, [("a".to_owned(), incarnation(&a)), ("b".to_owned(), None)]);
    assert_eq!(ask(&second).1, []);
}

pub fn owners_are_listed_in_the_order_of_their_ids<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let mut names: Vec<String> = (0..25).map(|n| format!("o{n}")).collect();
    for name in &names {
        Queue::made(&backend, name);
    }
    Queue::made(&backend, "gone").change(Change::Delete);
    names.sort();
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let page = wait(backend.queues().owners(after.clone(), 10)).unwrap();
        listed.extend(page.iter().map(|owner| owner.id.to_string()));
        match page.last() {
            Some(last) if page.len() == 10 => after = Some(last.id.clone()),
            _ => break,
        }
    }
    assert_eq!(listed, names);
}

pub fn a_cursor_only_rises<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let all = backend.queues();
    let cursor = |name: &str| wait(all.cursor(Part::new(name))).unwrap();
    assert_eq!(cursor("one"), 0);
    for to in [5, 3] {
        wait(all.move_cursor(Part::new("one"), to)).unwrap();
    }
    assert_eq!((cursor("one"), cursor("two")), (5, 0));
}

pub fn totals_are_those_of_all_owners<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 3, ..ROOMY });
    let [a, b] = ["a", "b"].map(|name| Queue::made(&backend, name));
    a.append(1..=5);
    b.append([1]);
    let totals = wait(a.all.totals()).unwrap();
    assert_eq!((totals.owners, totals.events, totals.bytes, totals.dead), (2, 4, 28, 2));
    b.change(Change::Delete);
    assert_eq!(a.drained().len(), 3);
    let totals = wait(a.all.totals()).unwrap();
    assert_eq!((totals.owners, totals.events, totals.bytes, totals.dead), (1, 0, 0, 2));
    assert_eq!(totals.waiting, Duration::ZERO);
}

pub fn everything_is_there_after_the_end_of_the_process<B: QueuesBackend>() {
    let backend = B::empty(Bounds { events: 3, ..ROOMY });
    let queue = Queue::made(&backend, "a");
    queue.append(1..=5);
    let taken = queue.take_for(Duration::from_millis(500)).unwrap();
    wait(queue.all.move_cursor(part(), 5)).unwrap();
    let gone = Queue::made(&backend, "gone");
    gone.change(Change::Delete);
    let (owner, version, gone_version) = (queue.owner(), queue.version(), gone.version());
    let number = taken.entries.last().unwrap().number;
    drop((queue, gone));
    let backend = backend.reopened();
    let queue = Queue::of(&backend, "a");
    assert_eq!((queue.owner(), queue.version()), (owner, version));
    assert_eq!(Queue::of(&backend, "gone").version(), gone_version);
    assert_eq!(wait(queue.all.cursor(part())).unwrap(), 5);
    assert_eq!(queue.append([5, 6]), Appended { queued: 1, old: 1, died: 1, ..Appended::default() });
    assert_eq!(queue.drained(), [4, 5, 6]);
    queue.append([7]);
    assert!(queue.take_soon().entries[0].number > number, "numbers never come again");
}

pub fn workers_at_one_time_share_the_owners<B: QueuesBackend>() {
    let backend = B::empty(ROOMY);
    let queues: Vec<_> = (0..20).map(|n| Queue::made(&backend, &format!("w{n}"))).collect();
    for queue in &queues {
        queue.append(1..=250);
    }
    let seen: std::sync::Mutex<Vec<(SubscriberId, Offset)>> = std::sync::Mutex::default();
    let all = backend.queues();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let due = wait(all.take(Limit::of(2), LEASE)).unwrap();
                    if due.taken.is_empty() && due.next.is_none() {
                        return;
                    }
                    for taken in due.taken {
                        let told = told(&taken);
                        seen.lock().unwrap().extend(told.into_iter().map(|offset| (taken.owner.clone(), offset)));
                        assert_eq!(
                            wait(all.done(taken.owner.clone(), taken.fence, all_done(&taken))).unwrap(),
                            Ended::Done
                        );
                    }
                }
            });
        }
    });
    let seen = seen.into_inner().unwrap();
    for queue in &queues {
        let own: Vec<_> = seen.iter().filter(|(id, _)| *id == queue.id).map(|(_, offset)| *offset).collect();
        assert_eq!(own, (1..=250).collect::<Vec<_>>(), "{}", queue.id);
    }
}
