//! Direct counters: numbers that requests change.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::id::CounterId;
use super::key::CounterKey;

/// A counter as it is defined: `likes`, with a number for each kind and oid.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectCounter {
    pub id: CounterId,
    /// The names of the parts that each of its keys has.
    pub key: Vec<String>,
    pub min: i64,
    pub max: i64,
    /// The value of a key that was never counted, or was reset.
    pub initial: i64,
    /// Ascending, each once.
    pub thresholds: Vec<i64>,
}

/// The direct counters of the process, by their ids.
#[derive(Clone, Debug, Default)]
pub struct DirectDefinitions(BTreeMap<CounterId, Arc<DirectCounter>>);

/// The stored state of one key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectState {
    /// `None`: the initial value.
    pub value: Option<i64>,
    /// How often each threshold was crossed. A reset leaves it as it is: the ids of events are made of it.
    pub crossings: BTreeMap<i64, u64>,
}

/// A step that can be done.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectStep {
    pub state: DirectState,
    pub value: i64,
    /// The thresholds that are crossed, ascending, each with how often it has been crossed now.
    pub crossed: Vec<(i64, u64)>,
}

/// The step would pass a bound; the value as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassesBound {
    pub value: i64,
}

/// The result of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// `crossed`: how many thresholds it has crossed.
    Done { value: i64, crossed: usize },
    /// It was done before, with this answer.
    Repeated { value: i64 },
    /// It would pass a bound: nothing was changed. The value as it is.
    PassesBound { value: i64 },
    /// The id was given to a request with another key or another `by`: nothing was changed.
    IdReused,
}

impl DirectCounter {
    /// The largest number, and the negative of the smallest: every JSON reader, and a script of Redis, holds it exactly.
    pub const NUMBER_MAX: i64 = (1 << 53) - 1;
    pub const THRESHOLDS_MAX: usize = 100;

    /// Whether it has keys of so many parts.
    pub fn has_key(&self, key: &CounterKey) -> bool {
        key.parts().count() == self.key.len()
    }

    pub fn value(&self, state: &DirectState) -> i64 {
        state.value.unwrap_or(self.initial)
    }

    /// Adds `by`. A value beyond a bound that was set later may come nearer to it.
    ///
    /// A threshold is crossed if it was above the value before, and is not above the value after. So one that is new
    /// and was passed before is not crossed.
    pub fn step(&self, state: &DirectState, by: i64) -> Result<DirectStep, PassesBound> {
        let before = self.value(state);
        let after = before.saturating_add(by);
        if (by > 0 && after > self.max) || (by < 0 && after < self.min) {
            return Err(PassesBound { value: before });
        }
        let mut state = DirectState { value: Some(after), crossings: state.crossings.clone() };
        let crossed = self.thresholds.iter().filter(|threshold| before < **threshold && **threshold <= after);
        let crossed = crossed.map(|threshold| {
            let count = state.crossings.entry(*threshold).or_default();
            *count += 1;
            (*threshold, *count)
        });
        let crossed = crossed.collect();
        Ok(DirectStep { state, value: after, crossed })
    }
}

impl DirectDefinitions {
    pub fn new(counters: impl IntoIterator<Item = DirectCounter>) -> Self {
        let counters = counters.into_iter().map(|counter| (counter.id.clone(), Arc::new(counter)));
        DirectDefinitions(counters.collect())
    }

    pub fn of(&self, id: &CounterId) -> Option<&Arc<DirectCounter>> {
        self.0.get(id)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn all(&self) -> impl Iterator<Item = &Arc<DirectCounter>> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(min: i64, max: i64, initial: i64, thresholds: &[i64]) -> DirectCounter {
        let id = "likes".parse().expect("an id");
        DirectCounter { id, key: vec!["oid".into()], min, max, initial, thresholds: thresholds.to_vec() }
    }

    /// The value and the crossed thresholds of a step, or the value that it would take beyond a bound.
    type Told = Result<(i64, Vec<(i64, u64)>), i64>;

    fn steps(counter: &DirectCounter, by: &[i64]) -> Vec<Told> {
        let mut state = DirectState::default();
        let step = |by: &i64| {
            let step = counter.step(&state, *by).map_err(|bound| bound.value)?;
            state = step.state;
            Ok((step.value, step.crossed))
        };
        by.iter().map(step).collect()
    }

    #[test]
    fn a_step_stays_within_the_bounds() {
        let counter = counter(-1, 3, 1, &[]);
        let told: Vec<_> = steps(&counter, &[3, 2, 1, -4, -5, -1, i64::MAX, i64::MIN]);
        let done = |value| Ok((value, Vec::new()));
        assert_eq!(told, [Err(1), done(3), Err(3), done(-1), Err(-1), Err(-1), Err(-1), Err(-1)]);
    }

    #[test]
    fn a_value_beyond_a_later_bound_may_come_nearer() {
        let counter = counter(0, 3, 0, &[]);
        let beyond = DirectState { value: Some(10), ..DirectState::default() };
        assert_eq!(counter.step(&beyond, -2).map(|step| step.value), Ok(8));
        assert_eq!(counter.step(&beyond, 1), Err(PassesBound { value: 10 }));
    }

    #[test]
    fn each_threshold_that_is_reached_from_below_is_crossed() {
        let counter = counter(-100, 100, 0, &[-5, 0, 5, 10]);
        let told = steps(&counter, &[4, 1, 5, -10, -1, 11, 64, -80, 80]);
        let crossed: Vec<_> = told.into_iter().map(|step| step.expect("within the bounds").1).collect();
        let none = Vec::new;
        assert_eq!(
            crossed,
            [
                none(),
                vec![(5, 1)],
                vec![(10, 1)],
                none(),
                none(),
                vec![(0, 1), (5, 2), (10, 2)],
                none(),
                none(),
                vec![(-5, 1), (0, 2), (5, 3), (10, 3)]
            ]
        );
    }

    #[test]
    fn a_new_threshold_that_was_passed_is_not_crossed() {
        let state = DirectState { value: Some(7), ..DirectState::default() };
        let counter = counter(0, 100, 0, &[5, 8]);
        assert_eq!(counter.step(&state, 1).map(|step| step.crossed), Ok(vec![(8, 1)]));
    }

    #[test]
    fn a_key_has_as_many_parts_as_the_definition_names() {
        let counter = counter(0, 1, 0, &[]);
        let has = |parts: &[&str]| counter.has_key(&CounterKey::of(parts.iter().copied()).expect("a key"));
        assert_eq!((has(&[]), has(&["1"]), has(&["1", "2"])), (false, true, false));
    }
}
