//! Owners' queues on Redis while connections break, data is gone or unreadable, and slots move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::shard::Shards;
use heartline::model::subscribers::SubscriberId;
use heartline::storage::event_bus::Offset;
use heartline::storage::event_bus::part::Offsets;
use heartline::storage::event_bus::source::Cursors;
use heartline::storage::owner_queues::{
    Append, Appended, Change, Ended, Limit, OwnerQueues, Revision, Unreadable, Version,
};
use heartline::storage::store_error::Answer;
use heartline::storage_redis::owner_queues::unit;
use redis::Connection;

use crate::backends::PATIENCE;
use crate::backends::redis::{Several, Single, tell};
use crate::backends::redis_owner_queues::*;
use crate::backends::redis_slots::Moving;
use crate::backends::requests::wait;

/// Asks until it is answered.
fn until_known<T>(ask: impl Fn() -> Answer<T>) -> T {
    let began = Instant::now();
    loop {
        match wait(ask()) {
            Ok(answer) => return answer,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Ends what waits for it, also when the test fails.
struct EndOnDrop<'a>(&'a AtomicBool);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Breaks all connections, and waits until something is answered again, on a slow machine too.
fn break_connections(killer: &mut Connection, answered: &AtomicU64, are_left: impl Fn() -> bool) {
    let (before, until) = (answered.load(Ordering::Relaxed), Instant::now() + PATIENCE);
    tell::<()>(killer, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    while answered.load(Ordering::Relaxed) < before + 5 && are_left() {
        assert!(Instant::now() < until, "events stay queued");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Two workers deliver, the cascade appends, and all repeat what they do not know.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn each_event_is_queued_once_and_delivered_in_its_order_whatever_is_cut() {
    const EVENTS: u64 = 3_000;
    const OWNERS: u64 = 7;
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnations: Vec<Version> = (0..OWNERS).map(|owner| make(&on.queues, &owner.to_string())).collect();
    let (url, done) = (on.url(), AtomicBool::new(false));
    let delivered: Mutex<BTreeMap<SubscriberId, Vec<(u64, Offset)>>> = Mutex::default();
    let (cut, given, answered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    thread::scope(|scope| {
        let ends = EndOnDrop(&done);
        let work = || {
            let queues = open(&url, ROOMY);
            while !done.load(Ordering::Relaxed) {
                let Ok(due) = wait(queues.take(Limit::of(3), Duration::from_millis(300))) else {
                    cut.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                for taken in due.taken {
                    let entries = taken.entries.iter().map(|entry| (taken.fence, offset_of(&entry.event)));
                    delivered.lock().unwrap().entry(taken.owner.clone()).or_default().extend(entries);
                    let ended = until_known(|| queues.done(taken.owner.clone(), taken.fence, done_with(&taken)));
                    given.fetch_add(u64::from(ended == Ended::Done), Ordering::Relaxed);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        let cascade = scope.spawn(|| {
            for first in (1..=EVENTS).step_by(20) {
                let events: Vec<Append> = (first..first + 20)
                    .map(|offset| {
                        event(&(offset % OWNERS).to_string(), incarnations[(offset % OWNERS) as usize], offset)
                    })
                    .collect();
                until_known(|| on.queues.append(part(), events.clone()));
                answered.fetch_add(1, Ordering::Relaxed);
                // Time for connections to break.
                thread::sleep(Duration::from_millis(15));
            }
        });
        let mut killer = on.connection();
        let are_left = || !cascade.is_finished() || until_known(|| on.queues.totals()).events > 0;
        while are_left() {
            break_connections(&mut killer, &answered, are_left);
        }
        drop(ends);
        cascade.join().unwrap();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    for (owner, found) in delivered.into_inner().unwrap() {
        let mut fences: Vec<(u64, Offset)> = found;
        // A worker may note what it was given after another that was given the same later.
        fences.sort_by_key(|(fence, _)| *fence);
        let mut first: Vec<Offset> = Vec::new();
        for (_, offset) in fences {
            if !first.contains(&offset) {
                first.push(offset);
            }
        }
        let rest: u64 = owner.as_str().parse().unwrap();
        assert_eq!(first, (1..=EVENTS).filter(|offset| offset % OWNERS == rest).collect::<Vec<_>>());
        let counted = until_known(|| on.queues.owner(owner.clone())).1.unwrap().unwrap().delivered;
        assert_eq!(counted, first.len() as u64, "what is repeated is counted once");
    }
    assert!(cut.into_inner() > 3 && given.into_inner() > 50, "nothing was shown");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_queued_in_a_redis_that_was_wiped() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let mut connection = on.connection();
    for shard in Shards::DEFAULT.all() {
        tell::<()>(&mut connection, &["DEL", &format!("{{h{}}}:deployment", shard.0)]);
    }
    let put = Change::Put { subscriber: subscriber(), ends: Offsets::new() };
    assert!(wait(on.queues.change(id("a"), 0, put)).is_err());
    assert!(wait(on.queues.append(part(), vec![event("a", 1, 1)])).is_err());
    assert!(wait(on.queues.take(Limit::of(1), LEASE)).is_err());
    assert!(wait(on.queues.move_cursor(part(), 5)).is_err());
    assert!(wait(on.queues.cursor(part())).is_err());
    assert!(wait(on.queues.owners(None, 1)).is_err());
    assert!(wait(on.queues.subscriptions(Revision::default())).is_err());
    assert_eq!(keys(&mut connection), BTreeSet::new());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_owner_that_cannot_be_read_keeps_no_other_from_its_events() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=1);
    let unit = unit::unit_of(&id("a")).0;
    tell::<()>(&mut on.connection(), &["SET", &format!("{{h{unit}}}:qp:a"), "{"]);
    assert_eq!(wait(on.queues.owner(id("a"))).unwrap().1, Some(Err(Unreadable)));
    let other = make(&on.queues, "b");
    assert_eq!(append(&on.queues, "b", other, 2..=2).queued, 1);
    let due = wait(on.queues.take(Limit::of(10), LEASE)).unwrap();
    assert_eq!(due.taken.iter().map(|taken| &taken.owner).collect::<Vec<_>>(), [&id("b")]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn nothing_is_queued_while_some_of_what_a_call_touches_is_on_another_node() {
    let on = OnServers::<Several>::fresh(ROOMY);
    let unit = unit::unit_of(&id("a"));
    let other = (0..).map(|number| number.to_string()).find(|name| unit::unit_of(&id(name)) == unit).unwrap();
    let owners = ["a", &other];
    let incarnations = owners.map(|name| make(&on.queues, name));
    let events = |offset| {
        let of = |(name, incarnation): (&str, Version)| event(name, incarnation, offset);
        owners.into_iter().zip(incarnations).map(of).collect::<Vec<Append>>()
    };
    wait(on.queues.append(part(), events(1))).unwrap();
    let key = |kind: &str, name: &str| format!("{{h{}}}:{kind}:{name}", unit.0);
    let mut moving = Moving::begin(on.servers.as_ref().unwrap(), &key("qo", "a"));
    ["qo", "ql"].iter().for_each(|kind| moving.take(&key(kind, &other)));

    assert!(wait(on.queues.append(part(), events(2))).is_err());
    assert_eq!(tell::<usize>(&mut moving.from, &["LLEN", &key("ql", "a")]), 1, "the other's could not be queued");
    moving.finish();
    let appended = until_known(|| on.queues.append(part(), events(2)));
    assert_eq!(appended, Appended { queued: 2, ..Appended::default() });
    let delivered = drain(&on.queues);
    for name in owners {
        assert_eq!(delivered[&id(name)].iter().map(|event| offset_of(event)).collect::<Vec<_>>(), [1, 2]);
    }
}
