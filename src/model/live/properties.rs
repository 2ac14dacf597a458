//! The numbers against a model that keeps every session in a map and counts anew each time.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::ids::{Content, SessionId, UserId};
use crate::visitor::{Browser, Country, DeviceClass, Os, Visitor};

const TIMEOUT: u64 = 20_000;
const SIZES: Sizes = Sizes { sessions: 1_000_000, top: 1_000, tail: 50 };

#[derive(Clone, Debug)]
enum Step {
    Change(Change, u64),
    /// Milliseconds.
    Wait(u64),
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Play { user: u64, session: u64, oid: u64, visitor: Visitor },
    End { user: u64, session: u64 },
    Erase { user: u64 },
    Kick { user: u64 },
}

impl Change {
    fn made(self, at: u64, now: u64) -> LiveChange {
        match self {
            Change::Play { user, session, oid, visitor } => LiveChange::Playing(Played {
                user: UserId(user),
                session: SessionId(session),
                content: content_of(oid),
                at,
                visitor,
            }),
            Change::End { user, session } => LiveChange::Ended { user: UserId(user), session: SessionId(session), at },
            Change::Erase { user } => LiveChange::Erased(UserId(user)),
            Change::Kick { user } => LiveChange::Kicked { user: UserId(user), at: now },
        }
    }
}

/// Each session with its content, and the `at` and the client of its newest beat.
#[derive(Default)]
struct Naive {
    sessions: BTreeMap<(UserId, SessionId), (Content, u64, Visitor)>,
    kicks: BTreeMap<UserId, u64>,
    visits: Vec<Visit>,
}

impl Naive {
    fn apply(&mut self, change: LiveChange, now: u64) {
        self.run_out(now);
        match change {
            LiveChange::Playing(Played { user, session, content, at, visitor }) => {
                if at + TIMEOUT <= now || self.kicks.get(&user).is_some_and(|kicked| at <= *kicked) {
                    return;
                }
                let before = self.sessions.get(&(user, session)).copied();
                if before.is_some_and(|(_, newest, _)| at < newest) {
                    return;
                }
                if before.is_none_or(|(watched, ..)| watched != content) {
                    self.visits.push(Visit { at, content, visitor });
                }
                self.sessions.insert((user, session), (content, at, visitor));
            }
            LiveChange::Ended { user, session, at } => {
                if self.sessions.get(&(user, session)).is_some_and(|(_, newest, _)| *newest <= at) {
                    self.sessions.remove(&(user, session));
                }
            }
            LiveChange::Erased(user) => self.sessions.retain(|(of, _), _| *of != user),
            LiveChange::Kicked { user, at } => {
                self.sessions.retain(|(of, _), _| *of != user);
                self.kicks.insert(user, at);
            }
        }
    }

    fn run_out(&mut self, now: u64) {
        self.sessions.retain(|_, (_, at, _)| *at + TIMEOUT > now);
    }

    fn judge(&self, live: &mut LiveNumbers) {
        let users: BTreeSet<_> = self.sessions.keys().map(|(user, _)| *user).collect();
        assert_eq!((live.sessions(), live.users()), (self.sessions.len() as u64, users.len() as u64));
        let in_public = self.sessions.iter().filter(|(_, (content, ..))| content.kind == PUBLIC);
        let public: BTreeSet<_> = in_public.map(|((user, _), _)| *user).collect();
        assert_eq!(live.public_users(), public.len() as u64);
        let mut kinds: BTreeMap<u16, u32> = BTreeMap::new();
        let mut contents: BTreeMap<Content, (u32, BTreeSet<UserId>)> = BTreeMap::new();
        for ((user, _), (content, ..)) in &self.sessions {
            *kinds.entry(content.kind).or_default() += 1;
            let counted = contents.entry(*content).or_default();
            counted.0 += 1;
            counted.1.insert(*user);
        }
        assert_eq!(live.kinds(), kinds.into_iter().collect::<Vec<_>>());
        for oid in 0..OIDS {
            let content = content_of(oid);
            let counted = contents.get(&content).map(|(sessions, users)| (*sessions, users.len() as u32));
            let counts = live.counts(content);
            assert_eq!((counts.sessions, counts.users), counted.unwrap_or_default(), "{content:?}");
        }
        let mut ranked: Vec<_> = contents.iter().map(|(content, (sessions, _))| (*content, *sessions)).collect();
        ranked.sort_by_key(|(_, sessions)| std::cmp::Reverse(*sessions));
        let top = live.top();
        assert_eq!(top.ranked.iter().map(|one| (one.content, one.sessions)).collect::<Vec<_>>(), ranked);
        assert_eq!(top.error, 0);
        let of_public = contents.iter().filter(|(content, _)| content.kind == PUBLIC);
        let mut of_public: Vec<_> = of_public.map(|(content, (_, users))| (*content, users.len() as u32)).collect();
        of_public.sort_by_key(|(_, users)| std::cmp::Reverse(*users));
        assert_eq!(live.public_top(), of_public);
        let newest: Vec<Visit> = self.visits.iter().rev().take(SIZES.tail).copied().collect();
        assert_eq!(live.visits(), newest);
        self.judge_shares(&live.shares());
    }

    fn judge_shares(&self, shares: &Shares) {
        let all = || self.sessions.values().map(|(_, _, visitor)| visitor);
        assert_eq!(told(&shares.devices), counted(all().filter_map(|visitor| visitor.device)));
        assert_eq!(told(&shares.os), counted(all().filter_map(|visitor| visitor.os)));
        assert_eq!(told(&shares.browsers), counted(all().filter_map(|visitor| visitor.browser)));
        assert_eq!(told(&shares.countries), counted(all().filter_map(|visitor| visitor.country)));
    }
}

fn told<Class: Ord + Copy>(tally: &Tally<Class>) -> BTreeMap<Class, u32> {
    tally.iter().map(|(class, sessions)| (*class, sessions)).collect()
}

fn counted<Class: Ord>(sessions: impl Iterator<Item = Class>) -> BTreeMap<Class, u32> {
    let mut counted = BTreeMap::new();
    sessions.for_each(|class| *counted.entry(class).or_default() += 1);
    counted
}

const OIDS: u64 = 6;
/// The kind whose users are counted apart.
const PUBLIC: u16 = 1;

fn content_of(oid: u64) -> Content {
    Content { kind: 1 + (oid % 2) as u16, oid }
}

/// Few, so that sessions share their parts.
fn visitors() -> impl Strategy<Value = Visitor> {
    let device = prop::option::of(prop::sample::select(&DeviceClass::ALL[..2]));
    let os = prop::sample::select(vec![None, Os::of("Android"), Os::of("iOS")]);
    let browser = prop::sample::select(vec![None, Browser::of("Chrome")]);
    let country = prop::sample::select(vec![None, Country::of("DE"), Country::of("FR")]);
    (device, os, browser, country).prop_map(|(device, os, browser, country)| Visitor { device, os, browser, country })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        8 => (0..5_u64, 0..3_u64, 0..OIDS, visitors())
            .prop_map(|(user, session, oid, visitor)| Change::Play { user, session, oid, visitor }),
        2 => (0..5_u64, 0..3_u64).prop_map(|(user, session)| Change::End { user, session }),
        1 => (0..5_u64).prop_map(|user| Change::Erase { user }),
        1 => (0..5_u64).prop_map(|user| Change::Kick { user }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        // How long ago it was made; what is below 5000 is ahead of the clock.
        6 => (change(), 0..40_000_u64).prop_map(|(change, ago)| Step::Change(change, ago)),
        2 => prop_oneof![0..3_000_u64, 0..30_000_u64, Just(5_000_000)].prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..120)
}

proptest! {
    #[test]
    fn live_numbers_equal_an_exact_count(steps in steps()) {
        let mut live = LiveNumbers::new(TIMEOUT, SIZES).with_public_kinds(vec![PUBLIC]);
        let mut naive = Naive::default();
        let mut now = 1_700_000_000_123;
        let mut published = BTreeMap::new();
        for step in steps {
            match step {
                Step::Wait(wait) => now += wait,
                Step::Change(change, ago) => {
                    let change = change.made(now + 5_000 - ago, now);
                    live.run_out(now);
                    live.apply(&[change], now);
                    naive.apply(change, now);
                }
            }
            live.run_out(now);
            live.note(now);
            naive.run_out(now);
            naive.judge(&mut live);
            for (content, counts) in live.take_changed() {
                published.insert(content, counts);
            }
            for oid in 0..OIDS {
                let told = published.get(&content_of(oid)).copied().unwrap_or_default();
                prop_assert_eq!(told, live.counts(content_of(oid)));
            }
        }
    }

    /// A list looks up its sessions before it changes them: they end, move and begin again in between.
    #[test]
    fn applying_a_list_equals_applying_its_changes(changes in prop::collection::vec((change(), 0..10_u64), 1..300)) {
        let mut live = LiveNumbers::new(TIMEOUT, SIZES).with_public_kinds(vec![PUBLIC]);
        let (mut naive, now) = (Naive::default(), 1_700_000_000_123);
        let changes: Vec<_> = changes.into_iter().map(|(change, ago)| change.made(now - ago, now)).collect();
        for list in changes.chunks(150) {
            live.apply(list, now);
            list.iter().for_each(|change| naive.apply(*change, now));
            naive.judge(&mut live);
        }
    }
}
