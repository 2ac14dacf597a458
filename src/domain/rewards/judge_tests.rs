//! Views by playback beside rewards.

use std::future::ready;
use std::time::Duration;

use futures_util::FutureExt;
use prometheus_client::registry::Registry;

use super::*;
use crate::rewards::config::RewardsConfig;
use crate::rewards::decisions::Decisions;
use crate::rewards::metrics::ViewsByPlayback;
use model::beat::State;
use model::ids::SessionId;
use model::outbox_entry::OutboxEntry;
use model::rewards::rule::{Per, RewardRule, RuleMemory};
use model::shard::Shards;
use storage::hot_store::Answer;
use storage::outbox::OutboxNumber;

const NOW: u64 = 1_795_150_000_000;
const USER: UserId = UserId(42);
const FILM: Content = Content { kind: 1, oid: 100 };
/// The indexes of the rules.
const REWARD: usize = 0;
const VIEW: usize = 1;

/// A full outbox.
struct Full;

impl Outbox for Full {
    fn read(&self, _: OutboxNumber, _: usize) -> Answer<Vec<(OutboxNumber, OutboxEntry)>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn remove(&self, _: Vec<OutboxNumber>) -> Answer<()> {
        ready(Ok(())).boxed()
    }

    fn len(&self) -> u64 {
        1
    }
}

/// A judge with a reward per user, and views of films.
fn judge() -> (Judge, ViewsByPlayback) {
    let reward = RewardRule {
        id: "first-of-day".into(),
        per: Per::User,
        kinds: Vec::new(),
        watched: Duration::ZERO,
        memory: RuleMemory::Exact,
    };
    let views = RewardRule::of_views(vec![FILM.kind], Duration::from_secs(5));
    let rules = Arc::new(Rules::new(vec![reward]).and(Some(views)));
    let config =
        RewardsConfig { zone: "UTC".to_owned(), rules: vec![], recent_users: 1, remembered_claims: 10, outbox: 1 };
    let (registry, counters) = (&mut Registry::default(), ViewsByPlayback::default());
    let judge = Judge {
        today: Arc::new(Today::open("UTC", rules.clone(), None, NOW).unwrap()),
        memory: Arc::new(Memory::new(rules.clone(), Shards::DEFAULT, &config, registry)),
        outbox: Arc::new(Full),
        outbox_max: 1,
        notify: Arc::default(),
        metrics: Metrics::new(&rules, counters.clone(), registry),
        rules,
        lost_day: None,
    };
    (judge, counters)
}

fn beat(content: Content, watched: u64) -> Beat {
    let (state, session) = (State::Playing, SessionId(1));
    Beat { content, pos: 0, dur: 0, state, session, watched: Some(watched), rate: 1.0, at: NOW }
}

fn decided(rule: usize, first: bool) -> Decided {
    Decided { change: 0, rule, first }
}

#[test]
fn a_view_is_asked_for_until_it_is_decided_for_the_content() {
    let (judge, counters) = judge();
    let today = judge.today.reward_day(NOW);
    let ask = |content, watched, known| judge.ask(USER, &beat(content, watched), known, &today);
    let open = |content, watched| ask(content, watched, DecidedRules::default()).open.iter().collect::<Vec<_>>();
    assert_eq!(open(FILM, 4_999), [REWARD], "the session is too short for a view");
    assert_eq!(open(FILM, 5_000), [REWARD, VIEW]);
    assert_eq!(open(Content { kind: 2, oid: 1 }, 5_000), [REWARD], "another kind");

    let mut decisions = Decisions::default();
    for first in [true, false] {
        let (known, settled) = (DecidedRules::default(), [decided(VIEW, first)]);
        let news = judge.settle((USER, FILM, known), ask(FILM, 5_000, known), &settled, &today).unwrap();
        assert_eq!((news.claims, news.flag), (vec![], None), "it is no reward, and decides nothing of the user");
        news.contents.into_iter().for_each(|(day, content)| decisions.decided_content(day, content));
        assert!(!judge.is_reward(&settled[0]));
    }
    assert_eq!((counters.counted.get(), counters.repeated.get()), (1, 1));
    let known = decisions.of(FILM, None);
    assert_eq!(ask(FILM, 9_000, known).open.iter().collect::<Vec<_>>(), [REWARD], "the connection knows the decision");
    assert_eq!(judge.rewarding(NOW).claims_max, 0);
    assert!(judge.is_reward(&decided(REWARD, true)) && !judge.is_reward(&decided(REWARD, false)));
}

#[test]
fn a_flag_of_the_day_of_a_loss_says_nothing() {
    let (judge, _) = judge();
    let today = judge.today.reward_day(NOW);
    let known = Decisions::default().of(FILM, Some(today.day));
    let open = |judge: &Judge| judge.ask(USER, &beat(FILM, 0), known, &today).open.iter().collect::<Vec<_>>();
    assert!(open(&judge).is_empty(), "the client has the flag of today");
    let lost = Judge { lost_day: Some(today.day), ..judge };
    assert_eq!(open(&lost), [REWARD]);
    let lost_before = Judge { lost_day: Some(Day::of_number(today.day.number() - 1)), ..lost };
    assert!(open(&lost_before).is_empty(), "the loss was yesterday");
}
