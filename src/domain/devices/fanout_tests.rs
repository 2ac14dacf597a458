//! Two gateways, connected by a channel in memory, and the pushes to their connections.

use std::collections::HashSet;
use std::future::ready;
use std::time::Instant;

use futures_util::future::BoxFuture;
use parking_lot::Mutex;

use super::*;
use crate::devices::inbox::Inbox;
use crate::devices::presence::Registration;
use crate::devices::ready_list::Notifier;
use model::beat::{Beat, State};
use model::ids::{ConnectionId, Content, SessionId};
use model::record::Record;
use model::revocation::TokenMark;
use model::rewards::credit::Credit;
use model::rewards::day::Day;
use model::transition::Transition;
use model::version::Version;
use model::visitor::Visitor;
use storage::device_channel::ChannelAway;

const USER: UserId = UserId(42);
const INTERVAL: Duration = Duration::from_secs(30);

/// The channel between two gateways.
#[derive(Default)]
struct Network {
    gateways: Mutex<Vec<Gateway>>,
    announced: Mutex<Vec<Announcement>>,
}

struct Gateway {
    followed: HashSet<UserId>,
    fanout: Option<Arc<Fanout>>,
}

/// One end of it.
struct End {
    network: Arc<Network>,
    own: usize,
}

impl DeviceChannel for End {
    fn follow(&self, user: UserId) {
        assert!(self.network.gateways.lock()[self.own].followed.insert(user), "once");
    }

    fn unfollow(&self, user: UserId) {
        assert!(self.network.gateways.lock()[self.own].followed.remove(&user), "once");
    }

    fn publish(&self, user: UserId, told: UserChange) {
        let gateways = self.network.gateways.lock();
        let others = gateways.iter().enumerate().filter(|(index, gateway)| {
            let other = *index != self.own;
            other && gateway.followed.contains(&user)
        });
        let others: Vec<_> = others.filter_map(|(_, gateway)| gateway.fanout.clone()).collect();
        drop(gateways);
        others.iter().for_each(|fanout| fanout.leave(user, told.clone()));
    }

    fn announce(&self, announcement: Announcement) -> BoxFuture<'static, Result<(), ChannelAway>> {
        self.network.announced.lock().push(announcement);
        Box::pin(ready(Ok(())))
    }
}

struct Side {
    presence: Arc<Presence>,
    fanout: Arc<Fanout>,
}

impl Side {
    fn connect(&self) -> Registration {
        self.presence.register(USER, TokenMark::default(), Visitor::default(), Notifier::Own(Arc::default()))
    }

    fn commit(&self, inbox: &Arc<Inbox>, outcome: Outcome, elsewhere: bool) {
        self.notify(CommittedChange { elsewhere, ..committed(inbox, outcome) }, None);
    }

    fn notify(&self, change: CommittedChange, after: Option<Record>) {
        let (user, cause) = (USER, Cause::Beat);
        let transitions = after.map(|after| {
            let transition = Transition { user, content: CONTENT, before: None, after: Some(after), cause };
            (0, transition)
        });
        let transitions: Vec<_> = transitions.into_iter().collect();
        let change = CommittedChange { transitions: 0..transitions.len(), ..change };
        self.fanout.committed(&CommittedGroup { changes: vec![change], transitions });
    }

    /// A beat of the connection moves the record on, or makes it (not `steady`).
    fn write(&self, connection: &Registration, steady: bool, at: u64) {
        let outcome = Outcome::from(Verdict::written(steady));
        self.notify(committed(connection.inbox(), outcome), Some(record(at)));
    }
}

/// A committed change of a user that other gateways follow.
fn committed(inbox: &Inbox, outcome: Outcome) -> CommittedChange {
    let (user, origin, here) = (inbox.user, inbox.origin, inbox.has_others());
    CommittedChange {
        user,
        origin,
        gateway: None,
        visitor: inbox.visitor,
        outcome,
        flag: None,
        here,
        elsewhere: true,
        transitions: 0..0,
    }
}

fn two_gateways() -> (Side, Side, Arc<Network>) {
    let network = Arc::new(Network::default());
    let side = |own| {
        network.gateways.lock().push(Gateway { followed: HashSet::new(), fanout: None });
        let end = Arc::new(End { network: network.clone(), own });
        let presence = Presence::with_channel(8, end.clone());
        let clock = Arc::new(Clock::starting_at(0, Duration::MAX));
        let fanout = Arc::new(Fanout::new(presence.clone(), end, INTERVAL, clock, &mut Registry::default()));
        network.gateways.lock()[own].fanout = Some(fanout.clone());
        Side { presence, fanout }
    };
    (side(0), side(1), network)
}

fn record(at: u64) -> Record {
    let (state, session) = (State::Playing, SessionId(1));
    let beat = Beat { content: CONTENT, pos: at, dur: 0, state, session, watched: Some(at), rate: 1.0, at };
    Record::of(&beat, Arc::from("tv"), Version::NONE, Credit::default())
}

const CONTENT: Content = Content { kind: 1, oid: 100 };

/// The pushes that the connection gets now.
fn told(connection: &Registration) -> Vec<Push> {
    connection.inbox().take(Instant::now()).pushes
}

fn told_in_time(connection: &Registration) -> Vec<Push> {
    connection.inbox().take(Instant::now() + INTERVAL).pushes
}

#[test]
fn a_change_reaches_the_connections_of_both_gateways_but_its_origin() {
    let (one, two, _) = two_gateways();
    let (origin, beside, across) = (one.connect(), one.connect(), two.connect());
    one.write(&origin, false, 5);
    assert_eq!((told(&origin), told(&beside), told(&across)), (vec![], vec![push(5)], vec![push(5)]));
}

fn push(at: u64) -> Push {
    Push::Record(record(at))
}

#[test]
fn a_request_is_not_pushed_to_the_connection_it_names_on_any_gateway() {
    let (one, two, _) = two_gateways();
    let (named, other) = (two.connect(), two.connect());
    let request = one.presence.request(USER, Some(named.inbox().id), Visitor::default(), Notifier::Own(Arc::default()));
    one.commit(&request, Outcome::Recording { changed: true, paused: true }, true);
    assert_eq!((told(&named), told(&other)), (vec![], vec![Push::Recording { paused: true }]));
}

#[test]
fn a_gateway_without_connections_of_the_user_is_told_nothing() {
    let (one, two, network) = two_gateways();
    let (origin, across) = (one.connect(), two.connect());
    one.commit(origin.inbox(), Outcome::Cleared { moved: true, at: 5 }, false);
    assert_eq!(told(&across), [], "the store saw no other gateway");
    drop(two.connect());
    assert!(network.gateways.lock()[1].followed.contains(&USER));
    drop(across);
    assert!(network.gateways.lock()[1].followed.is_empty());
}

#[test]
fn a_steady_change_waits_on_the_other_gateway_as_on_its_own() {
    let (one, two, _) = two_gateways();
    let (origin, across) = (one.connect(), two.connect());
    one.write(&origin, true, 5);
    one.write(&origin, true, 6);
    assert_eq!(told(&across), []);
    assert_eq!(told_in_time(&across), [push(6)], "the latest");
}

#[test]
fn every_kind_of_change_is_pushed_on_the_other_gateway() {
    let (one, two, network) = two_gateways();
    let (origin, across) = (one.connect(), two.connect());
    let commit = |outcome| one.commit(origin.inbox(), outcome, true);
    commit(Outcome::Deleted { moved: vec![CONTENT], at: 5 });
    commit(Outcome::Cleared { moved: true, at: 6 });
    commit(Outcome::Recording { changed: true, paused: true });
    commit(Outcome::Erased { at: 7, resumed: true, moved: true });
    let deleted = Push::Deleted { contents: vec![CONTENT], at: 5 };
    let switched = |paused| Push::Recording { paused };
    let expected = [deleted, Push::Cleared { at: 6 }, switched(true), Push::Cleared { at: 7 }, switched(false)];
    assert_eq!(told(&across), expected);
    assert_eq!(*network.announced.lock(), [Announcement::Erased(USER)]);
    for nothing_moved in [
        Outcome::Deleted { moved: vec![], at: 8 },
        Outcome::Cleared { moved: false, at: 8 },
        Outcome::Recording { changed: false, paused: true },
        Outcome::Erased { at: 8, resumed: false, moved: false },
        Outcome::Ahead,
    ] {
        commit(nothing_moved);
    }
    assert_eq!(told(&across), []);
    assert_eq!(network.announced.lock().len(), 1);
}

#[test]
fn an_erasure_of_a_user_without_connections_is_announced() {
    let (one, _two, network) = two_gateways();
    let office = one.presence.request(USER, None, Visitor::default(), Notifier::Own(Arc::default()));
    one.commit(&office, Outcome::Erased { at: 5, resumed: false, moved: true }, false);
    assert_eq!(*network.announced.lock(), [Announcement::Erased(USER)]);
}

#[test]
fn a_flag_reaches_the_other_gateway_with_the_record_of_its_claim() {
    let (one, two, _) = two_gateways();
    let (origin, across) = (one.connect(), two.connect());
    let day = Day::of_number(20_778);
    let outcome = Outcome::from(Verdict::written(false));
    one.notify(CommittedChange { flag: Some(day), ..committed(origin.inbox(), outcome) }, Some(record(5)));
    assert_eq!(told(&across), [Push::Flag(day), push(5)]);
    assert_eq!(told(&origin), []);
}

#[test]
fn an_older_change_is_not_pushed_after_a_newer_one() {
    let (_one, two, _) = two_gateways();
    let across = two.connect();
    let elsewhere = ConnectionId(1);
    let hear = |push, steady| two.fanout.leave(USER, UserChange { origin: elsewhere, push, steady });
    hear(push(6), false);
    assert_eq!(told(&across), [push(6)]);
    hear(push(5), false);
    hear(Push::Deleted { contents: vec![CONTENT], at: 4 }, false);
    assert_eq!(told(&across), [], "the newer one was told");
    hear(Push::Deleted { contents: vec![CONTENT], at: 6 }, false);
    assert_eq!(told(&across), [Push::Deleted { contents: vec![CONTENT], at: 6 }]);
    hear(push(6), false);
    assert_eq!(told(&across), [], "it was deleted");
    hear(Push::Cleared { at: 9 }, false);
    hear(push(9), false);
    hear(push(10), false);
    assert_eq!(told(&across), [Push::Cleared { at: 9 }, push(10)]);
}

#[test]
fn an_urgent_older_change_sends_the_waiting_newer_one_at_once() {
    let (_one, two, _) = two_gateways();
    let across = two.connect();
    let hear = |push, steady| two.fanout.leave(USER, UserChange { origin: ConnectionId(1), push, steady });
    hear(push(6), true);
    assert_eq!(told(&across), []);
    hear(push(5), false);
    assert_eq!(told(&across), [push(6)]);
}
