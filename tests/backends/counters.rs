//! What a hot store promises of derived counters: each is a count of its records, whatever is committed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use heartline::model::change::Change;
use heartline::model::counters::{CounterId, CounterKey, Definitions, Deltas, Recount, RecountState};
use heartline::model::decide::Transitions;
use heartline::model::ids::{Content, UserId};
use heartline::model::reading::Reading;
use heartline::model::record::Record;
use heartline::model::rewards::day::Day;
use heartline::storage::counters::{CountersError, DerivedCounters};
use heartline::storage::hot_store::{Committed, Group, HotStore};
use proptest::prelude::*;

use crate::backends::PATIENCE;
use crate::backends::hot_store_model::{Step, steps};
use crate::backends::hot_store_rewards::rewarding;
use crate::backends::requests::*;
use crate::support::depth::depth;

pub trait CountersBackend: Backend {
    /// How many random histories are tried.
    const CASES: u32;

    /// Counters by these definitions, as a gateway has them that starts with these settings.
    fn counters(&self, definitions: Definitions) -> Arc<dyn DerivedCounters>;
    /// Whatever was committed is in the numbers afterwards.
    fn flush(&self);
}

pub const COUNTERS: &str = r#"[
    {"id":"all"},
    {"id":"viewers","key":["kind","oid"]},
    {"id":"finishers","key":["kind","oid"],"when":{"finished":true}},
    {"id":"in-progress","key":["mid"],"when":{"finished":false}},
    {"id":"by-device","key":["device","state"],"when":{"kind":[1]}},
    {"id":"watched","key":["kind"],"value":"watched"}
]"#;

pub fn definitions(counters: &str, finished_at: f64) -> Definitions {
    let reading = Reading {
        resume_below: 0.05,
        resume_below_max: Duration::ZERO,
        finished_at,
        finished_remaining_max: Duration::ZERO,
        overrides: Vec::new(),
    };
    Definitions { counters: serde_json::from_str(counters).unwrap(), reading }
}

/// All records.
#[derive(Default)]
pub struct Records(pub BTreeMap<(UserId, Content), Record>);

impl Records {
    /// Each transition begins with the record that the one before it has left.
    fn hear(&mut self, transitions: &Transitions) -> Result<(), String> {
        for (_, told) in transitions {
            let place = (told.user, told.content);
            let known = match &told.after {
                Some(after) => self.0.insert(place, after.clone()),
                None => self.0.remove(&place),
            };
            if told.before != known {
                return Err(format!("{told:?} follows {known:?}"));
            }
        }
        Ok(())
    }

    /// Of each counter the numbers that are not 0, the largest first.
    pub fn counted(&self, definitions: &Definitions) -> BTreeMap<CounterId, Vec<(CounterKey, i64)>> {
        let mut sums = Deltas::default();
        self.0.iter().for_each(|((user, _), record)| definitions.count(*user, record, &mut sums));
        let ids = definitions.counters.iter().map(|counter| (counter.id.clone(), Vec::new()));
        let mut counted: BTreeMap<_, Vec<_>> = ids.collect();
        for (id, key, number) in sums.iter() {
            counted.get_mut(id).unwrap().push((key.clone(), number));
        }
        counted.values_mut().for_each(|numbers| numbers.sort_by_key(|(key, number)| (-number, key.clone())));
        counted
    }
}

fn id(text: &str) -> CounterId {
    text.parse().unwrap()
}

fn key(parts: &[&str]) -> CounterKey {
    CounterKey::of(parts.iter().copied()).unwrap()
}

/// Reads once the counter is counted.
fn top(counters: &dyn DerivedCounters, id: &CounterId, prefix: &CounterKey, limit: usize) -> Vec<(CounterKey, i64)> {
    let until = Instant::now() + PATIENCE;
    loop {
        match wait(counters.top(id.clone(), prefix.clone(), limit)) {
            Ok(top) => return top,
            Err(CountersError::Counting) => assert!(Instant::now() < until, "{id} is still being counted"),
            Err(error) => panic!("{id}: {error}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn all(counters: &dyn DerivedCounters, definitions: &Definitions) -> BTreeMap<CounterId, Vec<(CounterKey, i64)>> {
    let ids = definitions.counters.iter().map(|counter| counter.id.clone());
    ids.map(|id| (id.clone(), top(counters, &id, &CounterKey::default(), 10_000))).collect()
}

pub fn recount(counters: &dyn DerivedCounters, id: &CounterId, keys: Vec<CounterKey>) -> Recount {
    let name = wait(counters.recount(id.clone(), keys, NOW)).unwrap();
    let until = Instant::now() + PATIENCE;
    loop {
        let (_, recount) = wait(counters.recounted(name.clone(), NOW)).unwrap().expect("a recount of this name");
        if recount.state != RecountState::Running {
            return recount;
        }
        assert!(Instant::now() < until, "{recount:?} goes on");
        thread::sleep(Duration::from_millis(1));
    }
}

fn hold_to_the_records<B: CountersBackend>(limits: Limits, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (mut backend, definitions) = (B::fresh(limits), definitions(COUNTERS, 0.9));
    let mut counters = backend.counters(definitions.clone());
    let mut records = Records::default();
    for step in steps {
        match step {
            Step::Commit { now, day, room, changes } => {
                let committed = commit_rewarded(&backend.store(), now, rewarding(Day::of_number(day), room), changes);
                records.hear(&committed.transitions).map_err(TestCaseError::fail)?;
                backend.flush();
                prop_assert_eq!(all(&*counters, &definitions), records.counted(&definitions));
            }
            Step::Read { .. } => {}
            Step::Reopen(percent) => {
                drop(counters);
                backend.reopen(Limits { records_per_user: limits.records_per_user * percent / 100, ..limits });
                counters = backend.counters(definitions.clone());
            }
        }
    }
    // All counters are counted anew.
    let recount = recount(&*counters, &id("watched"), Vec::new());
    prop_assert_eq!((recount.state, recount.differences), (RecountState::Done, Vec::new()));
    prop_assert_eq!(all(&*counters, &definitions), records.counted(&definitions));
    Ok(())
}

fn config<B: CountersBackend>() -> ProptestConfig {
    ProptestConfig {
        cases: depth(B::CASES.div_ceil(4), B::CASES),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

pub fn each_counter_is_a_count_of_the_records<B: CountersBackend>() {
    proptest!(config::<B>(), |(steps in steps(1))| {
        hold_to_the_records::<B>(ROOMY, steps)?;
    });
}

pub fn a_record_that_gives_way_or_expires_is_no_longer_counted<B: CountersBackend>() {
    let limits = Limits { retention_ms: 20_000, records_per_user: 3 };
    proptest!(config::<B>(), |(steps in steps(4))| {
        hold_to_the_records::<B>(limits, steps)?;
    });
}

/// Beats of many users and contents, as long as it is not stopped.
fn play(store: &Arc<dyn HotStore>, rounds: &AtomicU64, stop: &AtomicBool) -> Transitions {
    let mut told = Transitions::new();
    for round in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let at = 1_000 + round;
        let beat = |user: u64| beat_of(UserId(user), content((user * 7 + round) % 5), at);
        let mut changes: Vec<Change> = (0..20).map(|user| beat((user * 13 + round * 31) % 600)).collect();
        changes.push(delete(&[1, 2], at));
        told.extend(committed(store, changes).transitions);
        rounds.fetch_add(1, Ordering::Relaxed);
    }
    told
}

/// While the generations change, a group is committed again, as its committer does.
fn committed(store: &Arc<dyn HotStore>, changes: Vec<Change>) -> Committed {
    let (group, until) = (Group::unrewarded(NOW, changes), Instant::now() + PATIENCE);
    loop {
        match wait(store.commit(&group)) {
            Ok(committed) => return committed,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

pub fn a_new_counter_counts_what_is_there_while_commits_go_on<B: CountersBackend>() {
    let (backend, mut records) = (B::fresh(ROOMY), Records::default());
    for user in 0..600 {
        let changes = (0..4).map(|oid| beat_of(UserId(user), content(oid), 500 + oid)).collect();
        records.hear(&committed(&backend.store(), changes).transitions).unwrap();
    }
    let two = definitions(r#"[{"id":"viewers","key":["oid"]},{"id":"all","value":1}]"#, 0.9);
    let changed = definitions(r#"[{"id":"viewers","key":["mid"]},{"id":"done","when":{"finished":true}}]"#, 0.9);
    let other_reading = definitions(r#"[{"id":"viewers","key":["mid"]},{"id":"done","when":{"finished":true}}]"#, 0.1);
    for definitions in [two, changed, other_reading] {
        let (stop, rounds, store) = (AtomicBool::new(false), AtomicU64::new(0), backend.store());
        let (counters, told) = thread::scope(|scope| {
            let player = scope.spawn(|| play(&store, &rounds, &stop));
            let until = Instant::now() + PATIENCE;
            while rounds.load(Ordering::Relaxed) == 0 {
                assert!(Instant::now() < until, "nothing is committed");
                thread::sleep(Duration::from_millis(1));
            }
            let counters = backend.counters(definitions.clone());
            let first = definitions.counters.iter().map(|counter| &counter.id);
            first.for_each(|id| drop(top(&*counters, id, &CounterKey::default(), 1)));
            stop.store(true, Ordering::Relaxed);
            (counters, player.join().unwrap())
        });
        records.hear(&told).unwrap();
        backend.flush();
        assert_eq!(all(&*counters, &definitions), records.counted(&definitions));
        let unchanged = definitions.counters[0].id.clone();
        assert_eq!(recount(&*counters, &unchanged, Vec::new()).differences, []);
    }
}

pub fn a_counter_whose_definition_stays_is_read_while_another_is_counted<B: CountersBackend>() {
    let mut backend = B::fresh(ROOMY);
    let one = definitions(r#"[{"id":"all"}]"#, 0.9);
    let counters = backend.counters(one.clone());
    committed(&backend.store(), vec![beat_of(USER, content(1), 1_000), beat_of(USER, content(2), 1_000)]);
    backend.flush();
    assert_eq!(top(&*counters, &id("all"), &key(&[]), 1), [(key(&[]), 2)]);
    drop(counters);
    backend.reopen(ROOMY);
    let counters = backend.counters(one);
    assert_eq!(wait(counters.values(id("all"), vec![key(&[])])).unwrap(), [2], "at once");
    let both = backend.counters(definitions(r#"[{"id":"all"},{"id":"viewers","key":["oid"]}]"#, 0.9));
    assert_eq!(wait(both.values(id("all"), vec![key(&[])])).unwrap(), [2], "all the time");
    assert_eq!(top(&*both, &id("viewers"), &key(&["2"]), 9), [(key(&["2"]), 1)]);
    let none = backend.counters(definitions("[]", 0.9));
    assert!(wait(none.values(id("all"), vec![key(&[])])).is_err());
    let until = Instant::now() + PATIENCE;
    while wait(both.values(id("all"), vec![key(&[])])).is_ok() {
        assert!(Instant::now() < until, "they are still counted");
        thread::sleep(Duration::from_millis(1));
    }
    // It begins anew when it comes back.
    committed(&backend.store(), vec![beat_of(USER, content(3), 1_000)]);
    let again = backend.counters(definitions(r#"[{"id":"all"}]"#, 0.9));
    assert_eq!(top(&*again, &id("all"), &key(&[]), 1), [(key(&[]), 3)]);
}

pub fn the_top_is_ordered_and_within_its_prefix<B: CountersBackend>() {
    let backend = B::fresh(ROOMY);
    let counters = backend.counters(definitions(r#"[{"id":"viewers","key":["kind","oid"]}]"#, 0.9));
    let mut changes = Vec::new();
    for (kind, oid, viewers) in [(1, 100, 2), (1, 20, 3), (1, 3, 2), (10, 1, 4), (2, 1, 1)] {
        changes.extend((0..viewers).map(|user| beat_of(UserId(user), Content { kind, oid }, 1_000)));
    }
    committed(&backend.store(), changes);
    backend.flush();
    let viewers = id("viewers");
    let told = |prefix: &[&str], limit| -> Vec<String> {
        let top = top(&*counters, &viewers, &key(prefix), limit);
        top.into_iter().map(|(key, number)| format!("{key}={number}")).collect()
    };
    assert_eq!(told(&[], 10), ["10:1=4", "1:20=3", "1:100=2", "1:3=2", "2:1=1"]);
    assert_eq!(told(&[], 3), ["10:1=4", "1:20=3", "1:100=2"]);
    assert_eq!(told(&["1"], 10), ["1:20=3", "1:100=2", "1:3=2"]);
    assert_eq!(told(&["1"], 2), ["1:20=3", "1:100=2"]);
    assert_eq!(told(&["1", "3"], 2), ["1:3=2"]);
    assert_eq!(told(&["7"], 2), Vec::<String>::new());
    let values = counters.values(viewers, vec![key(&["1", "3"]), key(&["1", "4"]), key(&["10", "1"])]);
    assert_eq!(wait(values).unwrap(), [2, 0, 4]);
}
