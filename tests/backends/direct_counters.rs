//! The promises of [`DirectCounters`], for all of its backends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use heartline::model::counters::crossing::Crossing;
use heartline::model::counters::direct::{Added, DirectCounter, DirectDefinitions, DirectState};
use heartline::model::counters::top::Top;
use heartline::model::counters::{CounterId, CounterKey};
use heartline::model::outbox_entry::OutboxEntry;
use heartline::storage::counters::{Addition, Answer, CountersError, DirectCounters};
use heartline::storage::outbox::Outbox;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::backends::requests::{NOW, wait};

const HOUR_MS: u64 = 3_600_000;

pub trait DirectBackend: Sized + Sync {
    /// Entries that the outbox takes of one key.
    const ROOM: usize;

    fn empty(definitions: Arc<DirectDefinitions>) -> Self;
    fn counters(&self) -> Arc<dyn DirectCounters>;
    fn outbox(&self) -> Arc<dyn Outbox>;
    /// As after the end of the process, with these definitions.
    fn reopened(self, definitions: Arc<DirectDefinitions>) -> Self;
}

fn counter(id: &str, initial: i64, thresholds: &[i64]) -> DirectCounter {
    let key = vec!["kind".to_owned(), "oid".to_owned()];
    DirectCounter { id: id.parse().unwrap(), key, min: -100, max: 1_000, initial, thresholds: thresholds.to_vec() }
}

fn key(parts: &[&str]) -> CounterKey {
    CounterKey::of(parts.iter().copied()).unwrap()
}

fn oid(oid: u64) -> CounterKey {
    key(&["1", &oid.to_string()])
}

fn defined(counters: &[DirectCounter]) -> Arc<DirectDefinitions> {
    Arc::new(DirectDefinitions::new(counters.iter().cloned()))
}

fn answered<T>(answer: Answer<T>) -> T {
    wait(answer).unwrap_or_else(|error| panic!("{error}"))
}

/// A backend and what it counts by.
struct Counting<B> {
    backend: B,
    definitions: Arc<DirectDefinitions>,
}

impl<B: DirectBackend> Counting<B> {
    fn of(counters: &[DirectCounter]) -> Self {
        let definitions = defined(counters);
        Counting { backend: B::empty(definitions.clone()), definitions }
    }

    fn reopened(self, counters: &[DirectCounter]) -> Self {
        let definitions = defined(counters);
        Counting { backend: self.backend.reopened(definitions.clone()), definitions }
    }

    fn addition(&self, counter: &str, key: CounterKey, by: i64, id: Option<&str>) -> Addition {
        let counter = self.definitions.of(&counter.parse().unwrap()).unwrap().clone();
        Addition { counter, key, by, id: id.map(Arc::from), now: NOW }
    }

    fn add(&self, key: CounterKey, by: i64) -> Added {
        answered(self.backend.counters().add(self.addition("likes", key, by, None)))
    }

    fn add_once(&self, key: CounterKey, by: i64, id: &str, now: u64) -> Added {
        let addition = Addition { now, ..self.addition("likes", key, by, Some(id)) };
        answered(self.backend.counters().add(addition))
    }

    fn values(&self, keys: &[CounterKey]) -> Vec<i64> {
        answered(self.backend.counters().values(likes(), keys.to_vec()))
    }

    fn top(&self, prefix: &[&str], limit: usize) -> Vec<(CounterKey, i64)> {
        answered(self.backend.counters().top(likes(), key(prefix), limit))
    }

    fn reset(&self, key: CounterKey) {
        answered(self.backend.counters().reset(likes(), key));
    }

    /// What waits to be published.
    fn crossings(&self) -> Vec<Crossing> {
        let crossing = |(_, entry)| match entry {
            OutboxEntry::Crossing(crossing) => crossing,
            OutboxEntry::Claim(claim) => panic!("{claim:?}"),
        };
        wait(self.backend.outbox().read(0, usize::MAX)).unwrap().into_iter().map(crossing).collect()
    }

    /// The thresholds and counts of what waits to be published.
    fn crossed(&self) -> Vec<(i64, u64)> {
        self.crossings().iter().map(|crossing| (crossing.threshold, crossing.n)).collect()
    }

    fn remove_crossings(&self) {
        let outbox = self.backend.outbox();
        let numbers = wait(outbox.read(0, usize::MAX)).unwrap().into_iter().map(|(number, _)| number).collect();
        wait(outbox.remove(numbers)).unwrap();
    }
}

fn likes() -> CounterId {
    "likes".parse().unwrap()
}

fn done(value: i64) -> Added {
    Added::Done { value, crossed: 0 }
}

pub fn a_step_changes_its_key_within_the_bounds<B: DirectBackend>() {
    let counters = [counter("likes", 5, &[]), counter("likes.x", 0, &[])];
    let mut counting = Counting::<B>::of(&counters);
    assert_eq!(counting.values(&[oid(1), oid(2)]), [5, 5], "the initial value");
    assert_eq!(counting.add(oid(1), 1), done(6));
    assert_eq!(counting.add(oid(1), -106), done(-100));
    assert_eq!(counting.add(oid(1), -1), Added::PassesBound { value: -100 });
    assert_eq!(counting.add(oid(2), 996), Added::PassesBound { value: 5 });
    assert_eq!(counting.add(oid(2), 995), done(1_000));
    assert_eq!(counting.add(oid(3), -5), done(0));
    let other = counting.addition("likes.x", oid(1), 7, None);
    assert_eq!(answered(counting.backend.counters().add(other)), done(7));
    for _ in 0..2 {
        assert_eq!(counting.values(&[oid(2), oid(1), oid(3), oid(4), oid(2)]), [1_000, -100, 0, 5, 1_000]);
        counting = counting.reopened(&counters);
    }
    let widest = DirectCounter {
        min: -DirectCounter::NUMBER_MAX,
        max: DirectCounter::NUMBER_MAX,
        ..counter("likes", 0, &[DirectCounter::NUMBER_MAX - 1])
    };
    counting = counting.reopened(&[widest]);
    for (by, expected) in [
        (DirectCounter::NUMBER_MAX - 1, Added::Done { value: DirectCounter::NUMBER_MAX - 1, crossed: 1 }),
        (DirectCounter::NUMBER_MAX, Added::PassesBound { value: DirectCounter::NUMBER_MAX - 1 }),
        (1, done(DirectCounter::NUMBER_MAX)),
        (1, Added::PassesBound { value: DirectCounter::NUMBER_MAX }),
        (-DirectCounter::NUMBER_MAX, done(0)),
        (-DirectCounter::NUMBER_MAX, done(-DirectCounter::NUMBER_MAX)),
        (-1, Added::PassesBound { value: -DirectCounter::NUMBER_MAX }),
        (9_000_000_000_000_000, done(9_000_000_000_000_000 - DirectCounter::NUMBER_MAX)),
    ] {
        assert_eq!(counting.add(oid(9), by), expected, "{by}");
        let now = match expected {
            Added::Done { value, .. } | Added::Repeated { value } | Added::PassesBound { value } => value,
            Added::IdReused => unreachable!("no ids here"),
        };
        assert_eq!(counting.values(&[oid(9)]), [now]);
    }
    let event = counting.crossings().pop().expect("a crossing");
    assert_eq!((event.value, event.threshold), (DirectCounter::NUMBER_MAX - 1, DirectCounter::NUMBER_MAX - 1));
}

pub fn a_request_with_an_id_is_done_once_in_a_day<B: DirectBackend>() {
    let counters = [counter("likes", 0, &[2]), counter("likes.x", 0, &[])];
    let mut counting = Counting::<B>::of(&counters);
    assert_eq!(counting.add_once(oid(1), 2, "a", NOW), Added::Done { value: 2, crossed: 1 });
    assert_eq!(counting.add(oid(1), 5), done(7));
    for _ in 0..2 {
        assert_eq!(counting.add_once(oid(1), 2, "a", NOW + 1), Added::Repeated { value: 2 }, "the same answer again");
        assert_eq!(counting.add_once(oid(1), 3, "a", NOW + 1), Added::IdReused, "another number");
        assert_eq!(counting.add_once(oid(2), 2, "a", NOW + 1), Added::IdReused, "another key");
        assert_eq!(counting.values(&[oid(1), oid(2)]), [7, 0]);
        counting = counting.reopened(&counters);
    }
    let of_other = counting.addition("likes.x", oid(1), 3, Some("a"));
    assert_eq!(answered(counting.backend.counters().add(of_other)), done(3), "ids are of one counter");
    assert_eq!(counting.add_once(oid(1), 2, "a", NOW + 24 * HOUR_MS - 1), Added::Repeated { value: 2 });
    assert_eq!(counting.add_once(oid(1), 3, "a", NOW + 24 * HOUR_MS), done(10), "it is forgotten");
    assert_eq!(counting.add_once(oid(1), 3, "a", NOW + 47 * HOUR_MS), Added::Repeated { value: 10 });
    assert_eq!(counting.add_once(oid(2), 3, "a", NOW + 48 * HOUR_MS), Added::Done { value: 3, crossed: 1 });
}

pub fn a_refusal_is_not_remembered<B: DirectBackend>() {
    let counting = Counting::<B>::of(&[counter("likes", 0, &[])]);
    for _ in 0..2 {
        assert_eq!(counting.add_once(oid(1), -101, "a", NOW), Added::PassesBound { value: 0 });
    }
    assert_eq!(counting.add(oid(1), 1), done(1));
    assert_eq!(counting.add_once(oid(1), -101, "a", NOW), done(-100), "it is tried again");
    assert_eq!(counting.add_once(oid(2), -101, "b", NOW), Added::PassesBound { value: 0 });
    assert_eq!(counting.add_once(oid(3), 4, "b", NOW), done(4), "the id may be used for another request");
    assert_eq!(counting.add_once(oid(2), -101, "b", NOW), Added::IdReused);
}

pub fn each_crossing_is_one_entry_in_its_order<B: DirectBackend>() {
    let counters = [counter("likes", 0, &[-5, 0, 5, 10])];
    let mut counting = Counting::<B>::of(&counters);
    assert_eq!(counting.add(oid(1), 4), done(4));
    assert_eq!(counting.add(oid(1), 1), Added::Done { value: 5, crossed: 1 });
    assert_eq!(counting.add(oid(1), -20), done(-15));
    assert_eq!(counting.add(oid(1), 26), Added::Done { value: 11, crossed: 4 });
    assert_eq!(counting.add_once(oid(1), -2, "a", NOW), done(9));
    assert_eq!(counting.add_once(oid(1), 1, "b", NOW), Added::Done { value: 10, crossed: 1 });
    assert_eq!(counting.add_once(oid(1), 1, "b", NOW), Added::Repeated { value: 10 });
    assert_eq!(counting.add(oid(2), 5), Added::Done { value: 5, crossed: 1 });
    let all = counting.crossings();
    let of_key = |key: CounterKey| all.iter().filter(move |crossing| crossing.key == key);
    let told: Vec<_> = of_key(oid(1)).map(|each| (each.threshold, each.n, each.value)).collect();
    assert_eq!(told, [(5, 1, 5), (-5, 1, 11), (0, 1, 11), (5, 2, 11), (10, 1, 11), (10, 2, 10)]);
    assert_eq!(of_key(oid(2)).map(|each| (each.threshold, each.n)).collect::<Vec<_>>(), [(5, 1)]);
    assert!(all.iter().all(|crossing| crossing.counter == likes() && crossing.at == NOW));
    counting = counting.reopened(&counters);
    let found: BTreeSet<_> =
        counting.crossings().iter().map(|each| (each.key.clone(), each.threshold, each.n)).collect();
    assert_eq!(found, all.iter().map(|each| (each.key.clone(), each.threshold, each.n)).collect());
    counting.remove_crossings();
    assert!(counting.backend.outbox().is_empty() && counting.crossings().is_empty());
    assert_eq!(counting.add(oid(1), -1), done(9));
    assert_eq!(counting.add(oid(1), 1), Added::Done { value: 10, crossed: 1 });
    assert_eq!(counting.crossed(), [(10, 3)], "it goes on counting");
}

pub fn a_new_threshold_that_was_passed_does_not_fire<B: DirectBackend>() {
    let mut counting = Counting::<B>::of(&[counter("likes", 0, &[5])]);
    counting.add(oid(1), 7);
    counting.remove_crossings();
    counting = counting.reopened(&[counter("likes", 0, &[3, 6, 9])]);
    assert_eq!(counting.add(oid(1), 1), done(8));
    assert_eq!(counting.add(oid(1), 1), Added::Done { value: 9, crossed: 1 });
    counting.add(oid(1), -9);
    counting.remove_crossings();
    counting = counting.reopened(&[counter("likes", 0, &[3, 5])]);
    assert_eq!(counting.add(oid(1), 5), Added::Done { value: 5, crossed: 2 });
    assert_eq!(counting.crossed(), [(3, 1), (5, 2)], "a threshold that comes back goes on counting");
}

pub fn a_reset_goes_back_to_the_initial_value<B: DirectBackend>() {
    let counters = [counter("likes", 3, &[3, 5])];
    let mut counting = Counting::<B>::of(&counters);
    counting.add_once(oid(1), 2, "a", NOW);
    counting.add(oid(2), -50);
    assert_eq!(counting.crossed(), [(5, 1)]);
    counting.remove_crossings();
    for unknown_or_known in [oid(3), oid(1), oid(2), oid(2)] {
        counting.reset(unknown_or_known);
    }
    for _ in 0..2 {
        assert_eq!(counting.values(&[oid(1), oid(2), oid(3)]), [3, 3, 3]);
        assert_eq!(counting.crossed(), [], "going back crosses nothing");
        assert_eq!(counting.top(&[], 10), []);
        counting = counting.reopened(&counters);
    }
    assert_eq!(counting.add_once(oid(1), 2, "a", NOW), Added::Repeated { value: 5 }, "the request was done");
    assert_eq!(counting.add(oid(1), 2), Added::Done { value: 5, crossed: 1 });
    assert_eq!(counting.crossed(), [(5, 2)], "crossings of before are counted");
    counting = counting.reopened(&[counter("likes", 4, &[])]);
    assert_eq!(counting.values(&[oid(1), oid(2)]), [5, 4], "of another initial value");
}

pub fn the_largest_values_are_told_in_their_order<B: DirectBackend>() {
    let counters = [counter("likes", 0, &[]), counter("likes2", 0, &[])];
    let mut counting = Counting::<B>::of(&counters);
    assert_eq!(counting.top(&[], 10), []);
    let parts = [["1", "5"], ["1", "50"], ["10", "1"], ["1-", "1"], ["2", "a b"], ["2", "!"], ["3", "1"], ["3", "2"]];
    for (parts, by) in parts.iter().zip([7, 9, 7, -3, 7, 1, 5, 900]) {
        counting.add(key(parts), by);
    }
    counting.add(key(&["3", "1"]), -5);
    let other = counting.addition("likes2", oid(1), 999, None);
    answered(counting.backend.counters().add(other));
    let sorted = [
        (key(&["3", "2"]), 900),
        (key(&["1", "50"]), 9),
        (key(&["1", "5"]), 7),
        (key(&["10", "1"]), 7),
        (key(&["2", "a b"]), 7),
        (key(&["2", "!"]), 1),
        (key(&["1-", "1"]), -3),
    ];
    for _ in 0..2 {
        for limit in [1, 3, 4, 7, 1_000] {
            assert_eq!(counting.top(&[], limit), sorted[..limit.min(sorted.len())], "{limit}");
        }
        assert_eq!(counting.top(&["1"], 10), [sorted[1].clone(), sorted[2].clone()]);
        assert_eq!(counting.top(&["2"], 1), [sorted[4].clone()]);
        assert_eq!(counting.top(&["2", "!"], 10), [sorted[5].clone()]);
        assert_eq!(counting.top(&["3", "1"], 10), []);
        assert_eq!(counting.top(&["4"], 10), []);
        counting = counting.reopened(&counters);
    }
}

pub fn any_number_of_keys_has_its_largest_values<B: DirectBackend>() {
    const KEYS: u64 = 3_000;
    let counting = Counting::<B>::of(&[counter("likes", 0, &[])]);
    let counters = counting.backend.counters();
    let mut top = Top::new(500);
    let mut of_kind = Top::new(7);
    let mut added = Vec::new();
    for number in 0..KEYS {
        // Many have one value, and the largest are in one kind.
        let (kind, value) = (number % 3, if number % 3 == 2 { 900 - number as i64 % 40 } else { number as i64 % 100 });
        let key = key(&[&kind.to_string(), &number.to_string()]);
        top.add(key.clone(), value);
        if kind == 1 {
            of_kind.add(key.clone(), value);
        }
        if value != 0 {
            added.push(counters.add(counting.addition("likes", key, value, None)));
        }
    }
    wait(async {
        for added in added {
            added.await.unwrap();
        }
    });
    assert_eq!(counting.top(&[], 500), top.into_sorted());
    assert_eq!(counting.top(&["1"], 7), of_kind.into_sorted());
}

pub fn steps_at_one_time_are_all_counted<B: DirectBackend>() {
    const THREADS: u64 = 8;
    const EACH: u64 = 100;
    let thresholds: Vec<i64> = (1..=50).map(|number| number * 10).collect();
    let counting = Counting::<B>::of(&[counter("likes", 0, &thresholds)]);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let counting = &counting;
            scope.spawn(move || {
                for step in 0..EACH {
                    match step % 2 {
                        0 => counting.add(oid(step % 4), 1),
                        // Two threads send each request.
                        _ => counting.add_once(oid(step % 4), 1, &format!("{}-{step}", number / 2), NOW),
                    };
                }
            });
        }
    });
    let values = counting.values(&[oid(0), oid(1), oid(2), oid(3)]);
    let (all, once) = ((THREADS * EACH / 4) as i64, (THREADS * EACH / 8) as i64);
    assert_eq!(values, [all, once, all, once]);
    for key in 0..4 {
        let all = counting.crossings();
        let told: Vec<_> =
            all.iter().filter(|each| each.key == oid(key)).map(|each| (each.threshold, each.n)).collect();
        let expected: Vec<_> = (1..=values[key as usize] / 10).map(|number| (number * 10, 1)).collect();
        assert_eq!(told, expected, "in the order of the steps");
    }
}

pub fn a_bound_holds_for_steps_at_one_time<B: DirectBackend>() {
    const THREADS: usize = 8;
    const EACH: usize = 20;
    const STOCK: usize = 60;
    let counting = Counting::<B>::of(&[DirectCounter { min: 0, ..counter("likes", STOCK as i64, &[]) }]);
    let take = |number: usize| {
        let counting = &counting;
        let taken = (0..EACH).filter_map(move |step| {
            let id = format!("{number}-{step}");
            match if step % 2 == 0 { counting.add(oid(1), -1) } else { counting.add_once(oid(1), -1, &id, NOW) } {
                Added::Done { value, .. } => Some(value),
                refused => {
                    assert_eq!(refused, Added::PassesBound { value: 0 });
                    None
                }
            }
        });
        taken.collect::<Vec<i64>>()
    };
    let mut taken: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || take(number))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    taken.sort_unstable();
    assert_eq!(taken, (0..STOCK as i64).collect::<Vec<_>>(), "each is taken once");
    assert_eq!(counting.values(&[oid(1)]), [0]);
}

pub fn a_step_that_crosses_needs_room_in_the_outbox<B: DirectBackend>() {
    const CROSSED: usize = 50;
    let thresholds: Vec<i64> = (1..=CROSSED as i64).collect();
    let counting = Counting::<B>::of(&[counter("likes", 0, &thresholds)]);
    for step in 1..=B::ROOM / CROSSED {
        assert_eq!(counting.add(oid(1), 50), Added::Done { value: 50, crossed: CROSSED }, "{step}");
        assert_eq!(counting.add(oid(1), -50), done(0));
    }
    let counters = counting.backend.counters();
    let full = || wait(counters.add(counting.addition("likes", oid(1), 50, Some("a"))));
    assert!(matches!(full(), Err(CountersError::OutboxFull)));
    assert_eq!(counting.values(&[oid(1)]), [0]);
    assert_eq!(counting.add(oid(1), -1), done(-1), "what crosses nothing is done");
    counting.add(oid(1), 1);
    assert_eq!(counting.crossings().len(), B::ROOM / CROSSED * CROSSED);
    counting.remove_crossings();
    assert!(matches!(full(), Ok(Added::Done { value: 50, crossed: CROSSED })), "it was not remembered");
}

pub fn they_answer_like_the_plain_model<B: DirectBackend>() {
    const KEYS: u64 = 4;
    const IDS: u32 = 20;
    for seed in 0..4 {
        let dice = &mut StdRng::seed_from_u64(seed);
        let mut thresholds: Vec<i64> = (0..6).map(|_| dice.random_range(-20..30)).collect();
        thresholds.sort_unstable();
        thresholds.dedup();
        let mut definition =
            DirectCounter { min: -20, max: 40, ..counter("likes", dice.random_range(-3..4), &thresholds) };
        let mut counting = Counting::<B>::of(std::slice::from_ref(&definition));
        let mut model = Model::default();
        for round in 0..150 {
            let key = oid(dice.random_range(0..KEYS));
            let by = [dice.random_range(1..12), -dice.random_range(1..12)][dice.random_range(0..2)];
            match dice.random_range(0..20) {
                0 => {
                    model.state(&key).value = None;
                    counting.reset(key);
                }
                1 => {
                    definition.thresholds.retain(|_| dice.random_range(0..4) > 0);
                    definition.initial += 1;
                    counting = counting.reopened(std::slice::from_ref(&definition));
                }
                2..8 => {
                    let id = format!("id {}", dice.random_range(0..IDS));
                    let expected = model.add_once(&definition, &key, by, &id);
                    assert_eq!(counting.add_once(key, by, &id, NOW), expected, "seed {seed}, round {round}");
                }
                _ => {
                    let expected = model.add(&definition, &key, by);
                    assert_eq!(counting.add(key, by), expected, "seed {seed}, round {round}");
                }
            }
            let keys: Vec<CounterKey> = (0..KEYS).map(oid).collect();
            let values: Vec<i64> = keys.iter().map(|key| definition.value(model.state(key))).collect();
            assert_eq!(counting.values(&keys), values, "seed {seed}, round {round}");
        }
        let crossed: BTreeSet<_> =
            counting.crossings().iter().map(|each| (each.key.clone(), each.threshold, each.n)).collect();
        assert_eq!(crossed.len(), counting.crossings().len(), "each once");
        assert_eq!(crossed, model.crossed, "seed {seed}");
    }
}

/// What the counters must answer.
#[derive(Default)]
struct Model {
    states: BTreeMap<CounterKey, DirectState>,
    done: BTreeMap<String, (CounterKey, i64, i64)>,
    crossed: BTreeSet<(CounterKey, i64, u64)>,
}

impl Model {
    fn state(&mut self, key: &CounterKey) -> &mut DirectState {
        self.states.entry(key.clone()).or_default()
    }

    fn add(&mut self, definition: &DirectCounter, key: &CounterKey, by: i64) -> Added {
        match definition.step(self.state(key), by) {
            Ok(step) => {
                *self.state(key) = step.state;
                let crossed = step.crossed.len();
                self.crossed.extend(step.crossed.into_iter().map(|(threshold, n)| (key.clone(), threshold, n)));
                Added::Done { value: step.value, crossed }
            }
            Err(bound) => Added::PassesBound { value: bound.value },
        }
    }

    fn add_once(&mut self, definition: &DirectCounter, key: &CounterKey, by: i64, id: &str) -> Added {
        match self.done.get(id) {
            Some((of, with, value)) if of == key && *with == by => Added::Repeated { value: *value },
            Some(_) => Added::IdReused,
            None => {
                let added = self.add(definition, key, by);
                if let Added::Done { value, .. } = added {
                    self.done.insert(id.to_owned(), (key.clone(), by, value));
                }
                added
            }
        }
    }
}
