//! Owners' queues on Redis as a backend, and what they alone promise.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use heartline::model::subscribers::{
    EventType, Failing, Filter, Newer, PauseReason, Secrets, SigningSecret, State, Status, Subscriber, SubscriberId,
};
use heartline::storage::config::redis::RedisConfig;
use heartline::storage::event_bus::Offset;
use heartline::storage::event_bus::part::{Offsets, Part};
use heartline::storage::owner_queues::{
    Append, Appended, Bounds, Change, Changed, DeadReason, Done, Ended, Fill, Filled, Limit, OwnerQueues, Revision,
    Taken, Unreadable, Version,
};
use heartline::storage_redis::Redis;
use heartline::storage_redis::owner_queues::{RedisQueues, unit};
use heartline::storage_redis::prepare::prepare;
use redis::{Connection, cmd};

use crate::backends::owner_queues::{Queue, QueuesBackend};
use crate::backends::owner_queues_leases::{append_and_take, subscription as subscription_of, wanted};
use crate::backends::redis::{Servers, Several, Single, connection, tell};
use crate::backends::requests::wait;

pub const ROOMY: Bounds = Bounds { events: 100_000, bytes: 1 << 30, age: Duration::from_hours(24) };
pub const LEASE: Duration = Duration::from_secs(30);

/// Queues on servers of this thread.
pub struct OnServers<S: Servers> {
    // Ends before its servers do.
    pub queues: Arc<RedisQueues>,
    pub servers: Option<S>,
    bounds: Bounds,
}

impl<S: Servers> OnServers<S> {
    pub fn fresh(bounds: Bounds) -> Self {
        let servers = S::with_those_of_this_thread(Option::take).unwrap_or_else(S::start);
        for server in servers.all() {
            cmd("FLUSHALL").arg("SYNC").exec(&mut connection(server)).unwrap();
        }
        prepare(&RedisConfig::strict(&servers.url())).unwrap();
        OnServers { queues: open(&servers.url(), bounds), servers: Some(servers), bounds }
    }

    pub fn url(&self) -> String {
        self.servers.as_ref().unwrap().url()
    }

    pub fn connection(&self) -> Connection {
        connection(&self.servers.as_ref().unwrap().all()[0])
    }
}

impl<S: Servers> Drop for OnServers<S> {
    fn drop(&mut self) {
        S::with_those_of_this_thread(|servers| *servers = self.servers.take());
    }
}

impl<S: Servers> QueuesBackend for OnServers<S> {
    fn empty(bounds: Bounds) -> Self {
        OnServers::fresh(bounds)
    }

    fn queues(&self) -> Arc<dyn OwnerQueues> {
        self.queues.clone()
    }

    fn reopened(mut self) -> Self {
        self.queues = open(&self.url(), self.bounds);
        self
    }
}

/// As another process opens them.
pub fn open(url: &str, bounds: Bounds) -> Arc<RedisQueues> {
    Arc::new(RedisQueues::new(Redis::open(&RedisConfig::strict(url)).unwrap(), bounds))
}

pub fn id(name: &str) -> SubscriberId {
    name.parse().unwrap()
}

pub fn part() -> Part {
    Part::new("log")
}

pub fn subscriber() -> Arc<Subscriber> {
    Arc::new(Subscriber {
        url: "https://example.com/hook".parse().unwrap(),
        types: vec![EventType::Reward],
        filter: Filter::default(),
        batch: 1,
        secrets: Secrets::new(SigningSecret::of(vec![7; 32]).unwrap()),
        newer: Newer::default(),
    })
}

/// Returns its incarnation.
pub fn make(queues: &RedisQueues, name: &str) -> Version {
    let put = Change::Put { subscriber: subscriber(), ends: Offsets::new() };
    match wait(queues.change(id(name), version(queues, name), put)).unwrap() {
        Changed::Done { version, made: true, .. } => version,
        other => panic!("{other:?}"),
    }
}

pub fn version(queues: &RedisQueues, name: &str) -> Version {
    wait(queues.owner(id(name))).unwrap().0
}

pub fn change(queues: &RedisQueues, name: &str, change: Change) -> Changed {
    wait(queues.change(id(name), version(queues, name), change)).unwrap()
}

pub fn event(name: &str, incarnation: Version, offset: Offset) -> Append {
    Append { owner: id(name), incarnation, offset, event: format!("{{\"n\":{offset}}}").into() }
}

pub fn append(
    queues: &RedisQueues,
    name: &str,
    incarnation: Version,
    offsets: impl Iterator<Item = Offset>,
) -> Appended {
    let events = offsets.map(|offset| event(name, incarnation, offset)).collect();
    wait(queues.append(part(), events)).unwrap()
}

fn take_one(queues: &RedisQueues, lease: Duration) -> Option<Taken> {
    let mut due = wait(queues.take(Limit::of(1), lease)).unwrap();
    assert!(due.taken.len() <= 1);
    due.taken.pop()
}

pub fn done_with(taken: &Taken) -> Done {
    Done {
        delivered_to: taken.entries.last().map(|entry| entry.number),
        delivered: taken.entries.len() as u64,
        status: Status::default(),
        slow: false,
        pause: Duration::ZERO,
    }
}

pub fn offset_of(event: &str) -> Offset {
    event.trim_start_matches("{\"n\":").trim_end_matches('}').parse().unwrap()
}

/// All keys of owners' queues, without the tag.
pub fn keys(connection: &mut Connection) -> BTreeSet<String> {
    let keys: Vec<String> = tell(connection, &["KEYS", "{h*}:q*"]);
    keys.into_iter().map(|key| key[key.find('}').unwrap() + 2..].to_owned()).collect()
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_idle_owner_has_its_record_and_definition_alone() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    let mut connection = on.connection();
    let idle: BTreeSet<String> = ["qo:a", "qp:a", "qi", "qv", "qs"].map(str::to_owned).into();
    assert_eq!(keys(&mut connection), idle);
    assert_eq!(append(&on.queues, "a", incarnation, 1..=3).queued, 3);
    assert_eq!(keys(&mut connection).difference(&idle).collect::<Vec<_>>(), ["qa", "qc", "ql:a"]);
    let taken = take_one(&on.queues, LEASE).unwrap();
    assert_eq!(taken.entries.iter().map(|entry| offset_of(&entry.event)).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(wait(on.queues.done(id("a"), taken.fence, done_with(&taken))).unwrap(), Ended::Done);
    assert_eq!(keys(&mut connection), idle);
    let due = wait(on.queues.take(Limit::of(10), LEASE)).unwrap();
    assert!(due.taken.is_empty() && due.next.is_none(), "{due:?}");
    change(&on.queues, "a", Change::Delete);
    assert_eq!(keys(&mut connection), ["qo:a", "qv", "qs"].map(str::to_owned).into());
    assert_eq!(
        tell::<Vec<String>>(&mut connection, &["HKEYS", &format!("{{h{}}}:qo:a", unit::unit_of(&id("a")).0)]),
        ["v"]
    );
    let totals = wait(on.queues.totals()).unwrap();
    assert_eq!((totals.owners, totals.events, totals.bytes), (0, 0, 0));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn any_number_of_events_is_queued_in_its_order() {
    const EVENTS: u64 = 2_000;
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnations = ["a", "b"].map(|name| make(&on.queues, name));
    let long = "x".repeat(2_000);
    let of = |offset: Offset| {
        let owner = (offset % 2) as usize;
        let event = format!("{{\"n\":{offset},\"text\":\"{long}\"}}").into();
        Append { owner: id(["a", "b"][owner]), incarnation: incarnations[owner], offset, event }
    };
    let events: Vec<Append> = (1..=EVENTS).map(of).collect();
    assert_eq!(wait(on.queues.append(part(), events.clone())).unwrap().queued, EVENTS);
    assert_eq!(wait(on.queues.append(part(), events)).unwrap(), Appended { old: EVENTS, ..Appended::default() });
    let delivered = drain(&on.queues);
    for (owner, first) in [("a", 2), ("b", 1)] {
        let texts = delivered[&id(owner)].iter();
        let offsets: Vec<Offset> = texts.map(|text| offset_of(text.split_once(',').unwrap().0)).collect();
        assert_eq!(offsets, (first..=EVENTS).step_by(2).collect::<Vec<_>>());
    }
    let totals = wait(on.queues.totals()).unwrap();
    assert_eq!((totals.owners, totals.events, totals.bytes), (2, 0, 0));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_append_of_several_parts_leases_as_many_as_are_wanted() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let owners: Vec<Queue> = (0..40).map(|n| Queue::made(&on, &format!("owner-{n}"))).collect();
    let of = |name: &str, offset| {
        let events = owners.iter().flat_map(|owner| wanted(part(), &subscription_of(owner), [offset]).1);
        (Part::new(name), events.collect())
    };
    let parts = vec![of("one", 1), of("other", 7)];
    let (appended, given) = append_and_take(&owners[0], parts.clone(), 30);
    assert_eq!((appended.queued, given.taken.len(), given.is_due), (80, 30, true));
    assert!(given.taken.iter().all(|taken| taken.entries.len() == 1), "what follows of another part waits");
    assert_eq!(append_and_take(&owners[0], parts, 30).0, Appended { old: 80, ..Appended::default() });
    let rest = wait(on.queues.take(Limit::of(40), LEASE)).unwrap();
    assert_eq!(rest.taken.iter().map(|taken| taken.entries.len()).collect::<Vec<_>>(), [2; 10]);
    for taken in &given.taken {
        let ended = on.queues.done_and_take(taken.owner.clone(), taken.fence, done_with(taken), Some(LEASE));
        let next = wait(ended).unwrap().taken.pop().expect("it has more");
        assert_eq!(next.entries.iter().map(|entry| offset_of(&entry.event)).collect::<Vec<_>>(), [7]);
        let ended = on.queues.done_and_take(next.owner.clone(), next.fence, done_with(&next), Some(LEASE));
        let given = wait(ended).unwrap();
        assert!(given.taken.is_empty() && !given.is_due, "it has no more");
    }
}

/// Delivers all that is queued. Of each owner its events.
pub fn drain(queues: &RedisQueues) -> BTreeMap<SubscriberId, Vec<Arc<str>>> {
    let mut events: BTreeMap<SubscriberId, Vec<Arc<str>>> = BTreeMap::new();
    loop {
        let due = wait(queues.take(Limit::of(4), LEASE)).unwrap();
        if due.taken.is_empty() {
            return events;
        }
        for taken in due.taken {
            assert_eq!(wait(queues.done(taken.owner.clone(), taken.fence, done_with(&taken))).unwrap(), Ended::Done);
            events.entry(taken.owner).or_default().extend(taken.entries.into_iter().map(|entry| entry.event));
        }
    }
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_lease_that_is_ended_twice_is_ended_once() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=150);
    let taken = take_one(&on.queues, LEASE).unwrap();
    let last = taken.entries[9].number;
    let done = Done { delivered_to: Some(last), delivered: 10, pause: LEASE, ..done_with(&taken) };
    for _ in 0..2 {
        assert_eq!(wait(on.queues.done(id("a"), taken.fence, done.clone())).unwrap(), Ended::Done);
        let owner = wait(on.queues.owner(id("a"))).unwrap().1.unwrap().unwrap();
        assert_eq!((owner.depth, owner.delivered), (140, 10));
    }
    change(&on.queues, "a", Change::Resume);
    let next = take_one(&on.queues, LEASE).unwrap();
    assert_eq!(wait(on.queues.done(id("a"), taken.fence, done_with(&next))).unwrap(), Ended::Fenced);
    assert_eq!(wait(on.queues.owner(id("a"))).unwrap().1.unwrap().unwrap().depth, 140);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_the_api_says_during_a_lease_stays() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=10);
    let failing = Status { failing: Some(Failing { since: 1, tries: 5 }), ..Status::default() };
    let put = || Change::Put { subscriber: subscriber(), ends: Offsets::new() };
    for (said, state) in [
        (Change::Pause, State::Paused(PauseReason::Requested)),
        (Change::Resume, State::Active),
        (put(), State::Active),
    ] {
        change(&on.queues, "a", Change::Resume);
        let taken = take_one(&on.queues, LEASE).unwrap();
        change(&on.queues, "a", said);
        let done = Done {
            delivered_to: Some(taken.entries[0].number),
            delivered: 1,
            status: failing.clone(),
            slow: false,
            pause: LEASE,
        };
        assert_eq!(wait(on.queues.done(id("a"), taken.fence, done)).unwrap(), Ended::Done);
        let owner = wait(on.queues.owner(id("a"))).unwrap().1.unwrap().unwrap();
        assert_eq!((owner.status.state, owner.status.failing), (state, None));
        let again = take_one(&on.queues, LEASE);
        assert_eq!(again.is_some(), state == State::Active, "it is due at once");
        if let Some(again) = again {
            wait(on.queues.done(id("a"), again.fence, Done { delivered_to: None, ..done_with(&again) })).unwrap();
        }
    }
    assert_eq!(wait(on.queues.owner(id("a"))).unwrap().1.unwrap().unwrap().delivered, 3);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_cluster_favours_no_unit() {
    const OWNERS: u64 = 40;
    let on = OnServers::<Several>::fresh(ROOMY);
    for owner in 0..OWNERS {
        let incarnation = make(&on.queues, &owner.to_string());
        append(&on.queues, &owner.to_string(), incarnation, [owner + 1].into_iter());
    }
    let other = open(&on.url(), ROOMY);
    let mut taken = BTreeSet::new();
    // One at a time, by two processes in turn.
    for turn in 0..OWNERS {
        let queues = if turn % 2 == 0 { &on.queues } else { &other };
        let lease = take_one(queues, LEASE).unwrap();
        assert_eq!(lease.entries.len(), 1);
        assert!(taken.insert(lease.owner.clone()), "{} is leased twice", lease.owner);
    }
    let due = wait(on.queues.take(Limit::of(10), LEASE)).unwrap();
    assert!(due.taken.is_empty() && due.next.is_some_and(|next| next <= LEASE && !next.is_zero()), "{due:?}");
    let all = wait(on.queues.owners(None, 100)).unwrap();
    let mut names: Vec<String> = (0..OWNERS).map(|owner| owner.to_string()).collect();
    names.sort();
    assert_eq!(all.iter().map(|owner| owner.id.to_string()).collect::<Vec<_>>(), names);
    assert_eq!(wait(on.queues.owners(Some(id(&names[20])), 5)).unwrap(), all[21..26]);
    let changed = wait(on.queues.subscriptions(Revision::default())).unwrap();
    assert_eq!(changed.changed.len() as u64, OWNERS);
    assert_eq!(wait(on.queues.subscriptions(changed.revision.clone())).unwrap().changed, []);
}

/// A step moves some hundreds at most.
#[test]
#[ignore = "needs Redis: tests/run redis"]
fn any_number_of_events_is_given_up_by_and_by() {
    const EVENTS: u64 = 1_500;
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnations = ["a", "b"].map(|name| make(&on.queues, name));
    for (name, incarnation) in ["a", "b"].into_iter().zip(incarnations) {
        append(&on.queues, name, incarnation, 1..=EVENTS);
    }
    change(&on.queues, "b", Change::Pause);
    thread::sleep(Duration::from_millis(30));
    let later = open(&on.url(), Bounds { events: 1_000, age: Duration::from_millis(20), ..ROOMY });
    let due = wait(later.take(Limit::of(10), LEASE)).unwrap();
    assert_eq!((due.taken.len(), due.next), (0, None), "all of it is too old");
    assert_eq!(wait(later.expire()).unwrap(), EVENTS, "the other's");
    assert_eq!(wait(later.expire()).unwrap(), 0);
    let totals = wait(later.totals()).unwrap();
    assert_eq!((totals.events, totals.bytes, totals.dead, totals.dropped), (0, 0, 2_000, 2 * EVENTS - 2_000));
    for name in ["a", "b"] {
        let letters = wait(later.dead(id(name), 0, usize::MAX)).unwrap().unwrap();
        let offsets: Vec<Offset> = letters.iter().map(|letter| offset_of(&letter.event)).collect();
        assert_eq!(offsets, (501..=EVENTS).collect::<Vec<_>>());
        assert!(letters.iter().all(|letter| letter.reason == DeadReason::TooOld));
        let rest = wait(later.dead(id(name), letters[399].number, 2)).unwrap().unwrap();
        assert_eq!(rest, letters[400..402]);
        assert_eq!(wait(on.queues.resend(id(name))).unwrap(), Some(1_000));
    }
    change(&on.queues, "b", Change::Resume);
    let delivered = drain(&on.queues);
    for name in ["a", "b"] {
        let offsets: Vec<Offset> = delivered[&id(name)].iter().map(|event| offset_of(event)).collect();
        assert_eq!(offsets, (501..=EVENTS).collect::<Vec<_>>());
    }
    assert_eq!(wait(on.queues.totals()).unwrap().dead, 0);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn what_was_delivered_goes_by_its_number_though_others_have_fallen_out() {
    let on = OnServers::<Single>::fresh(Bounds { events: 10, ..ROOMY });
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=10);
    let taken = take_one(&on.queues, LEASE).unwrap();
    assert_eq!(append(&on.queues, "a", incarnation, 11..=15).died, 5);
    assert_eq!(wait(on.queues.done(id("a"), taken.fence, done_with(&taken))).unwrap(), Ended::Done);
    let rest = take_one(&on.queues, LEASE).unwrap().entries;
    assert_eq!(rest.iter().map(|entry| offset_of(&entry.event)).collect::<Vec<_>>(), [11, 12, 13, 14, 15]);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_append_leaves_the_time_of_the_next_try() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=1);
    let taken = take_one(&on.queues, LEASE).unwrap();
    assert!(take_one(&on.queues, LEASE).is_none());
    append(&on.queues, "a", incarnation, 2..=2);
    assert!(take_one(&on.queues, LEASE).is_none(), "the lease goes on");
    let status = Status { failing: Some(Failing { since: 1, tries: 5 }), ..Status::default() };
    let hour = Duration::from_hours(1);
    let done = Done { delivered_to: None, delivered: 0, status, slow: false, pause: hour };
    assert_eq!(wait(on.queues.done(id("a"), taken.fence, done)).unwrap(), Ended::Done);
    append(&on.queues, "a", incarnation, 3..=3);
    let due = wait(on.queues.take(Limit::of(1), LEASE)).unwrap();
    assert!(due.taken.is_empty() && due.next.is_some_and(|next| next > hour / 2), "{due:?}");
    let next_try = wait(on.queues.owner(id("a"))).unwrap().1.unwrap().unwrap().next_try;
    assert!(next_try.is_some_and(|next| next > hour / 2 && next <= hour), "{next_try:?}");
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn a_replay_brings_what_was_left_out_and_a_lease_from_before_it_removes_nothing() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=600);
    let taken = take_one(&on.queues, LEASE).unwrap();
    change(&on.queues, "a", Change::Replay { after: Offsets::from([(part(), 2)]) });
    assert_eq!(append(&on.queues, "a", incarnation, 601..=601).left_out, 1);
    assert_eq!(wait(on.queues.done(id("a"), taken.fence, done_with(&taken))).unwrap(), Ended::Fenced);
    let mut replays = wait(on.queues.replays()).unwrap();
    let replay = replays.pop().unwrap();
    assert_eq!((replay.at, replay.room), ([(part(), 2)].into(), ROOMY.events));
    let fill = |at: Offset, to: Offset, is_end| {
        let events = (at + 1..=to).map(|offset| (offset, event("a", incarnation, offset).event)).collect();
        let (owner, version) = (id("a"), replay.version);
        wait(on.queues.fill(Fill { owner, version, part: part(), at, to, events, is_end, parts: [part()].into() }))
            .unwrap()
    };
    // More than is queued in one step. The end was read before the last event came.
    assert_eq!(fill(2, 600, true), Filled::More);
    assert_eq!(fill(2, 600, true), Filled::Moved);
    assert_eq!(fill(600, 601, false), Filled::Over);
    assert_eq!(fill(601, 602, false), Filled::Moved);
    assert!(wait(on.queues.replays()).unwrap().is_empty());
    assert_eq!(append(&on.queues, "a", incarnation, 601..=602), Appended { queued: 1, old: 1, ..Appended::default() });
    let offsets: Vec<Offset> = drain(&on.queues)[&id("a")].iter().map(|event| offset_of(event)).collect();
    assert_eq!(offsets, (3..=602).collect::<Vec<_>>());
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_id_outlives_its_worker() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let incarnation = make(&on.queues, "a");
    append(&on.queues, "a", incarnation, 1..=3);
    let short = Duration::from_secs(1);
    let lost = take_one(&on.queues, short).unwrap();
    let due = wait(on.queues.take(Limit::of(1), LEASE)).unwrap();
    assert!(due.taken.is_empty() && due.next.is_some_and(|next| next <= short), "{due:?}");
    thread::sleep(short);
    let found = take_one(&on.queues, LEASE).unwrap();
    assert!(found.fence > lost.fence);
    assert_eq!(found.entries, lost.entries);
    assert_eq!(wait(on.queues.done(id("a"), lost.fence, done_with(&lost))).unwrap(), Ended::Fenced);
    assert_eq!(wait(on.queues.done(id("a"), found.fence, done_with(&found))).unwrap(), Ended::Done);
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn an_owner_that_cannot_be_read_is_left_out_and_the_others_are_served() {
    let on = OnServers::<Single>::fresh(ROOMY);
    let [bad, _] = ["bad", "good"].map(|name| make(&on.queues, name));
    let mut connection = on.connection();
    assert_eq!(append(&on.queues, "bad", bad, 1..=1).queued, 1);
    let spoil = |connection: &mut Connection| {
        let key = format!("{{h{}}}:qp:bad", unit::unit_of(&id("bad")).0);
        tell::<String>(connection, &["SET", &key, "{\"url\":7}"]);
    };
    spoil(&mut connection);
    let queue = Queue::of(&on, "good");
    let (appended, given) = append_and_take(&queue, vec![wanted(part(), &subscription_of(&queue), 1..=1)], 4);
    assert_eq!(appended.queued, 1);
    let mut taken = given.taken;
    taken.extend(wait(on.queues.take(Limit::of(9), LEASE)).unwrap().taken);
    let served: Vec<_> = taken.iter().map(|taken| taken.owner.to_string()).collect();
    assert_eq!(served, ["good"]);
    let owners = wait(on.queues.owners(None, 9)).unwrap();
    assert_eq!(owners.iter().map(|owner| owner.id.as_str()).collect::<Vec<_>>(), ["good"]);
    assert_eq!(wait(on.queues.owner(id("bad"))).unwrap().1, Some(Err(Unreadable)));
    let told = wait(on.queues.subscriptions(Revision::default())).unwrap().changed;
    assert!(told.iter().all(|(owner, now)| now.is_some() == (owner.as_str() == "good")), "{told:?}");
    let replay = || Change::Replay { after: Offsets::new() };
    assert!(matches!(change(&on.queues, "bad", replay()), Changed::Done { .. }));
    assert!(matches!(change(&on.queues, "good", replay()), Changed::Done { .. }));
    let filled: Vec<_> = wait(on.queues.replays()).unwrap().iter().map(|replay| replay.owner.to_string()).collect();
    assert_eq!(filled, ["good"]);
    let put = Change::Put { subscriber: subscriber(), ends: Offsets::new() };
    assert!(matches!(change(&on.queues, "bad", put), Changed::Done { made: false, .. }));
    assert!(wait(on.queues.owner(id("bad"))).unwrap().1.unwrap().is_ok());
    spoil(&mut connection);
    assert!(matches!(change(&on.queues, "bad", Change::Delete), Changed::Done { .. }));
}

#[test]
#[ignore = "needs Redis: tests/run redis"]
fn another_process_learns_of_the_last_look_at_the_bus() {
    let on = OnServers::<Single>::fresh(ROOMY);
    wait(on.queues.keep_look(7)).unwrap();
    assert_eq!(wait(open(&on.url(), ROOMY).looked_at()).unwrap(), Some(7));
    assert_eq!(keys(&mut on.connection()), ["qk".to_owned()].into());
}
