//! The memory knows some decisions without the store, and leaves the others to it.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::text;

use super::*;
use model::rewards::rule::{RewardRule, RuleMemory};

const USER: UserId = UserId(42);
const CONTENT: Content = Content { kind: 1, oid: 100 };
const FIRST_OF_DAY: usize = 0;
const FIRST_VIEW: usize = 1;
const EXACT_VIEW: usize = 2;

struct Scene {
    memory: Memory,
    registry: Registry,
}

fn rule(id: &str, per: Per, memory: RuleMemory) -> RewardRule {
    RewardRule { id: id.into(), per, kinds: Vec::new(), watched: Duration::from_secs(5), memory }
}

fn config(recent_users: usize, remembered_claims: usize) -> RewardsConfig {
    RewardsConfig { zone: "UTC".to_owned(), rules: Vec::new(), recent_users, remembered_claims, outbox: 1 }
}

fn scene(config: &RewardsConfig, expected: u64, probability: f64) -> Scene {
    let rules = Rules::new(vec![
        rule("first-of-day", Per::User, RuleMemory::Exact),
        rule("first-view", Per::Content, RuleMemory::Bloom { expected, probability }),
        rule("exact-view", Per::Content, RuleMemory::Exact),
    ]);
    let mut registry = Registry::with_prefix("heartline");
    Scene { memory: Memory::new(Arc::new(rules), Shards::DEFAULT, config, &mut registry), registry }
}

fn roomy() -> Scene {
    scene(&config(100_000, 1_000_000), 100_000, 0.01)
}

/// A scene whose shards were all filled from an empty store.
fn filled() -> Scene {
    let scene = roomy();
    scene.fill_all();
    scene
}

/// The day this many days after 2026-11-20.
fn day(after: u16) -> Day {
    Day::of_number(20_777 + after)
}

fn only(index: usize) -> RuleSet {
    [index].into_iter().collect()
}

impl Scene {
    /// Fills all shards without claims.
    fn fill_all(&self) {
        for shard in Shards::DEFAULT.all() {
            assert!(self.memory.fill(shard, day(0), [], self.memory.ticket_of(shard)));
        }
    }

    fn ask(&self, user: UserId, after: u16) -> Remembered {
        let today = RewardDay { day: day(after), rules: [0, 1, 2].into_iter().collect(), zone: "UTC".into() };
        self.memory.user_rules(user, &today, LookupReason::Beat)
    }

    fn knows(&self, user: UserId, content: Content, after: u16) -> bool {
        let decided = self.memory.content_rules(only(FIRST_VIEW).or(only(EXACT_VIEW)), user, content, day(after));
        assert!(!decided.contains(EXACT_VIEW), "no filter is exact");
        decided.contains(FIRST_VIEW)
    }

    fn mark(&self, index: usize, user: UserId, after: u16) {
        self.memory.mark(index, user, CONTENT, day(after));
    }

    fn metric(&self, name: &str) -> u64 {
        let mut page = String::new();
        text::encode(&mut page, &self.registry).unwrap();
        let line = page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{page}")).parse().unwrap()
    }

    fn lookups(&self) -> u64 {
        self.metric("heartline_reward_lookups_total{asker=\"beat\"}")
    }
}

fn open() -> Remembered {
    Remembered { decided: RuleSet::NONE, certain: true, paused: None }
}

#[test]
fn before_it_is_filled_the_memory_is_not_certain() {
    let scene = roomy();
    assert_eq!(scene.ask(USER, 0), Remembered { certain: false, ..open() });
    scene.mark(FIRST_OF_DAY, USER, 0);
    assert_eq!(scene.ask(USER, 0).decided, only(FIRST_OF_DAY), "decisions of this process are known all the same");
}

#[test]
fn answers_of_the_store_are_added_to_decisions_made_meanwhile() {
    let scene = roomy();
    let shard = Shards::DEFAULT.of(USER);
    let peer_messages: Vec<_> = (43..).map(UserId).filter(|user| Shards::DEFAULT.of(*user) == shard).take(3).collect();
    assert!(!scene.ask(peer_messages[0], 0).certain);
    scene.mark(FIRST_OF_DAY, USER, 0);
    scene.mark(FIRST_VIEW, USER, 0);
    let key = |rule: &str, user, content, after| ClaimKey { rule: rule.into(), day: day(after), user, content };
    let keys = [
        key("first-of-day", peer_messages[0], None, 0),
        key("first-view", peer_messages[1], Some(CONTENT), 0),
        key("first-of-day", peer_messages[2], None, 9),
        key("taken-out", peer_messages[2], None, 0),
    ];
    assert!(scene.memory.fill(shard, day(0), keys, scene.memory.ticket_of(shard)));
    for user in [USER, peer_messages[0]] {
        assert_eq!(scene.ask(user, 0), Remembered { decided: only(FIRST_OF_DAY), ..open() });
    }
    for user in &peer_messages[1..] {
        assert_eq!(scene.ask(*user, 0), open());
    }
    assert!(scene.knows(USER, CONTENT, 0) && scene.knows(peer_messages[1], CONTENT, 0));
    assert!(!scene.knows(peer_messages[0], CONTENT, 0));
}

#[test]
fn a_new_day_begins_with_nothing_and_that_is_certain() {
    let scene = filled();
    scene.mark(FIRST_OF_DAY, USER, 0);
    scene.mark(FIRST_VIEW, USER, 0);
    assert_eq!(scene.ask(USER, 1), open());
    assert!(!scene.knows(USER, CONTENT, 1));
    assert_eq!(scene.metric("heartline_reward_filter_items{rule=\"first-of-day\"}"), 0);
}

#[test]
fn a_day_that_is_over_has_no_decisions_and_takes_no_marks() {
    let scene = filled();
    scene.mark(FIRST_OF_DAY, USER, 1);
    scene.mark(FIRST_VIEW, USER, 1);
    assert_eq!(scene.ask(USER, 0), Remembered { certain: false, ..open() });
    assert!(!scene.knows(USER, CONTENT, 0));
    scene.mark(FIRST_OF_DAY, UserId(7), 0);
    assert_eq!(scene.ask(UserId(7), 1), open());
    assert!(scene.knows(USER, CONTENT, 1));
}

/// Midnight passed between the read of the store and the call.
#[test]
fn a_fill_for_yesterday_makes_today_certain() {
    let scene = roomy();
    scene.mark(FIRST_OF_DAY, USER, 1);
    assert!(!scene.ask(UserId(7), 1).certain);
    let yesterday = ClaimKey { rule: "first-of-day".into(), day: day(0), user: UserId(7), content: None };
    let ticket = scene.memory.ticket(UserId(7));
    assert!(scene.memory.fill(Shards::DEFAULT.of(UserId(7)), day(0), [yesterday], ticket));
    assert_eq!(scene.ask(UserId(7), 1), open());
}

/// Fails without the bitmaps: the recent users have forgotten all but the last.
#[test]
fn the_bitmaps_know_users_who_are_not_recent() {
    let scene = scene(&config(1, 1_000_000), 1, 0.01);
    scene.fill_all();
    let users = 5_000;
    for user in 0..users {
        scene.mark(FIRST_OF_DAY, UserId(user * 2), 0);
    }
    for user in 0..users * 2 {
        let decided = if user % 2 == 0 { only(FIRST_OF_DAY) } else { RuleSet::NONE };
        assert_eq!(scene.ask(UserId(user), 0), Remembered { decided, ..open() }, "user {user}");
    }
    assert_eq!(scene.metric("heartline_reward_filter_items{rule=\"first-of-day\"}"), users);
}

/// Fails without the bloom filters: no other memory keeps the contents of a user.
#[test]
fn marked_contents_are_denied_and_hardly_any_others() {
    let scene = filled();
    let content = |oid| Content { kind: 1, oid };
    for oid in 0..2_000 {
        scene.memory.mark(FIRST_VIEW, UserId(oid), content(oid), day(0));
    }
    assert!((0..2_000).all(|oid| scene.knows(UserId(oid), content(oid), 0)), "never a false negative");
    let wrong = (0..2_000).filter(|oid| scene.knows(UserId(*oid), content(oid + 1), 0)).count();
    assert!(wrong < 40, "{wrong} of 2000 denied wrongly");
    assert!(!scene.knows(UserId(3), Content { kind: 2, oid: 3 }, 0), "the kind counts");
}

/// Fails without the LRU: each call would be a look-up.
#[test]
fn one_look_up_for_each_user_and_day_while_they_are_remembered() {
    let scene = filled();
    for after in 0..2 {
        for _ in 0..3 {
            for user in 0..1_000 {
                scene.ask(UserId(user), after);
                scene.mark(FIRST_OF_DAY, UserId(user), after);
                assert_eq!(scene.ask(UserId(user), after).decided, only(FIRST_OF_DAY));
            }
        }
        assert_eq!(scene.lookups(), 1_000 * u64::from(after + 1));
    }
    let today = RewardDay { day: day(2), rules: only(FIRST_OF_DAY), zone: "UTC".into() };
    scene.memory.user_rules(USER, &today, LookupReason::Welcome);
    assert_eq!(scene.metric("heartline_reward_lookups_total{asker=\"welcome\"}"), 1);
}

/// Fails if the recent users grow without bound.
#[test]
fn the_least_recently_used_user_is_looked_up_again() {
    let scene = scene(&config(3_000, 1_000_000), 1, 0.01);
    let shard = Shards::DEFAULT.of(USER);
    let users: Vec<_> = (0..).map(UserId).filter(|user| Shards::DEFAULT.of(*user) == shard).take(4).collect();
    let lookups = |user: UserId| {
        let before = scene.lookups();
        scene.ask(user, 1);
        scene.lookups() - before
    };
    assert_eq!([0, 1, 2, 0, 3].map(|user| lookups(users[user])), [1, 1, 1, 0, 1]);
    assert_eq!(lookups(users[0]), 0, "used since");
    assert_eq!(lookups(users[1]), 1, "three of each shard are kept");
}

#[test]
fn without_rules_per_user_nothing_is_looked_up() {
    let mut registry = Registry::with_prefix("heartline");
    let memory = Memory::new(Arc::default(), Shards::DEFAULT, &config(1, 1), &mut registry);
    let scene = Scene { memory, registry };
    scene.ask(USER, 0);
    assert_eq!(scene.lookups(), 0);
}

#[test]
fn beyond_their_bound_the_bitmaps_are_not_certain_and_do_not_grow() {
    // One user of each shard, and four times the standard deviation of that number.
    let scene = scene(&config(1_000, 1_000), 1, 0.01);
    scene.fill_all();
    let shard = Shards::DEFAULT.of(USER);
    let users: Vec<_> = (0..).map(UserId).filter(|user| Shards::DEFAULT.of(*user) == shard).take(8).collect();
    users[..5].iter().for_each(|user| scene.mark(FIRST_OF_DAY, *user, 0));
    assert!(scene.ask(users[7], 0).certain, "five found room");
    for user in &users[5..7] {
        scene.ask(*user, 0);
        scene.mark(FIRST_OF_DAY, *user, 0);
        assert_eq!(scene.ask(*user, 0).decided, only(FIRST_OF_DAY), "the recent users know it");
    }
    assert_eq!(scene.metric("heartline_reward_filter_items{rule=\"first-of-day\"}"), 5);
    assert_eq!(scene.ask(users[5], 0), Remembered { certain: false, ..open() }, "only one recent user is kept");
    assert_eq!(scene.ask(users[4], 0), Remembered { decided: only(FIRST_OF_DAY), certain: false, paused: None });
    let looked_up = scene.lookups();
    scene.ask(users[4], 0);
    assert_eq!(scene.lookups(), looked_up, "uncertain users are not looked up again and again");
    assert_eq!(scene.ask(users[5], 1), open(), "a new day has room");
}

#[test]
fn a_filter_beyond_its_items_is_not_trusted() {
    let scene = scene(&config(1_000, 1_000), 5_000, 0.01);
    let items = scene.memory.estimates()[0].items_per_shard;
    let view = |oid| scene.memory.mark(FIRST_VIEW, USER, Content { kind: 1, oid }, day(0));
    // Items that the filter wrongly takes for known are not counted: at most one or two.
    (0..items).for_each(view);
    assert!((0..items).all(|oid| scene.knows(USER, Content { kind: 1, oid }, 0)));
    assert!(scene.metric("heartline_reward_filter_bytes{rule=\"first-view\"}") > 0);
    assert_eq!(scene.metric("heartline_reward_filters_full{rule=\"first-view\"}"), 0);
    (items..items + 10).for_each(view);
    assert!((0..items + 10).all(|oid| !scene.knows(USER, Content { kind: 1, oid }, 0)), "the store answers");
    assert_eq!(scene.metric("heartline_reward_filter_bytes{rule=\"first-view\"}"), 0);
    assert_eq!(scene.metric("heartline_reward_filters_full{rule=\"first-view\"}"), 1);
}

#[test]
fn a_switch_is_followed_and_outlives_the_day() {
    let scene = filled();
    scene.memory.switched(USER, true);
    assert_eq!(scene.ask(USER, 0).paused, None, "a switch makes no unknown user recent");
    scene.memory.switched(USER, true);
    assert_eq!(scene.ask(USER, 0).paused, Some(true));
    assert_eq!(scene.ask(USER, 1).paused, Some(true));
    scene.memory.switched(USER, false);
    assert_eq!(scene.ask(USER, 1).paused, Some(false));
}

#[test]
fn a_read_loses_against_a_switch_committed_meanwhile() {
    let scene = filled();
    let ticket = scene.memory.ticket(USER);
    scene.memory.learned_paused(USER, false, ticket);
    assert_eq!(scene.ask(USER, 0).paused, Some(false));

    let ticket = scene.memory.ticket(USER);
    scene.memory.switched(USER, true);
    scene.memory.learned_paused(USER, false, ticket);
    assert_eq!(scene.ask(USER, 0).paused, Some(true));

    // The user is unknown when the switch is committed: a state read before the switch must not be learned after it.
    let stranger = UserId(7);
    let ticket = scene.memory.ticket(stranger);
    scene.memory.switched(stranger, true);
    scene.memory.learned_paused(stranger, false, ticket);
    assert_eq!(scene.ask(stranger, 0).paused, None);
}

#[test]
fn an_erased_user_is_a_new_one() {
    let scene = filled();
    let ticket = scene.memory.ticket(USER);
    scene.memory.learned_paused(USER, true, ticket);
    scene.mark(FIRST_OF_DAY, USER, 0);
    scene.mark(FIRST_OF_DAY, UserId(7), 0);
    assert_eq!(scene.ask(USER, 0), Remembered { decided: only(FIRST_OF_DAY), certain: true, paused: Some(true) });
    scene.memory.forget(USER);
    scene.memory.learned_paused(USER, true, ticket);
    assert_eq!(scene.ask(USER, 0), open());
    assert_eq!(scene.ask(UserId(7), 0).decided, only(FIRST_OF_DAY));
    assert_eq!(scene.metric("heartline_reward_filter_items{rule=\"first-of-day\"}"), 1);
}

#[test]
fn a_read_from_before_an_erasure_is_not_remembered() {
    let (scene, shard) = (filled(), Shards::DEFAULT.of(USER));
    let ticket = scene.memory.ticket(USER);
    scene.memory.forget(USER);
    scene.memory.learned_decided(USER, only(FIRST_OF_DAY), day(0), ticket);
    let key = ClaimKey { rule: "first-of-day".into(), day: day(0), user: USER, content: None };
    assert!(!scene.memory.fill(shard, day(0), [key.clone()], ticket));
    assert_eq!(scene.ask(USER, 0), open());
    let ticket = scene.memory.ticket_of(shard);
    scene.memory.learned_decided(USER, only(FIRST_OF_DAY), day(0), ticket);
    assert_eq!(scene.ask(USER, 0).decided, only(FIRST_OF_DAY));
}

#[test]
fn one_of_several_gateways_is_never_certain_and_forgets_no_decision() {
    let rules = Rules::new(vec![rule("first-of-day", Per::User, RuleMemory::Exact)]);
    let config = config(100_000, 1_000_000);
    let memory = Memory::shared(Arc::new(rules), Shards::DEFAULT, &config, &mut Registry::default());
    let scene = Scene { memory, registry: Registry::default() };
    scene.fill_all();
    let unknown = Remembered { decided: RuleSet::NONE, certain: false, paused: None };
    assert_eq!(scene.ask(USER, 0), unknown, "another gateway may have claimed it");
    let ticket = scene.memory.ticket(USER);
    scene.memory.learned_paused(USER, true, ticket);
    scene.memory.switched(USER, true);
    assert_eq!(scene.ask(USER, 0), unknown, "another gateway may have resumed it");
    scene.memory.mark(0, USER, CONTENT, day(0));
    assert_eq!(scene.ask(USER, 0), Remembered { decided: only(0), ..unknown });
    assert_eq!(scene.ask(USER, 1), unknown, "a day that begins here is not certain either");
    scene.memory.forget(USER);
    assert_eq!(scene.ask(USER, 1), unknown);
}
