//! The largest values of a counter.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::key::CounterKey;

/// Keeps the largest values of those that it is given, with their keys; equal values in the order of their keys. Zeros
/// are left out.
#[derive(Debug, Default)]
pub struct Top {
    limit: usize,
    /// The largest value first.
    kept: BTreeSet<(Reverse<i64>, CounterKey)>,
}

impl Top {
    pub fn new(limit: usize) -> Self {
        Top { limit, kept: BTreeSet::new() }
    }

    /// Each key is given once.
    pub fn add(&mut self, key: CounterKey, value: i64) {
        if value == 0 || !self.takes(&key, value) {
            return;
        }
        self.kept.insert((Reverse(value), key));
        if self.kept.len() > self.limit {
            self.kept.pop_last();
        }
    }

    /// Whether this one would be kept.
    pub fn takes(&self, key: &CounterKey, value: i64) -> bool {
        let last = self.kept.last().filter(|_| self.kept.len() >= self.limit);
        self.limit > 0 && last.is_none_or(|(last, of)| (Reverse(value), key) < (*last, of))
    }

    pub fn into_sorted(self) -> Vec<(CounterKey, i64)> {
        self.kept.into_iter().map(|(Reverse(value), key)| (key, value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(part: &str) -> CounterKey {
        CounterKey::of([part]).expect("a key")
    }

    #[test]
    fn the_largest_values_are_kept_and_ties_are_by_key() {
        for limit in 0..8 {
            let mut top = Top::new(limit);
            let all = [("d", 3), ("b", -1), ("a", 5), ("c", 3), ("z", 0), ("e", 3), ("f", -2)];
            all.into_iter().for_each(|(part, value)| top.add(key(part), value));
            let mut sorted = vec![("a", 5), ("c", 3), ("d", 3), ("e", 3), ("b", -1), ("f", -2)];
            sorted.truncate(limit);
            let sorted: Vec<_> = sorted.into_iter().map(|(part, value)| (key(part), value)).collect();
            assert_eq!(top.into_sorted(), sorted, "{limit}");
        }
    }
}
