//! The counters of the search: what is added to them, and what they must be.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use heartline::model::counters::{CounterId, CounterKey};
use heartline::model::sums::{Sum, SumKey};
use heartline::storage::statistics::CounterStatistics;
use rand::RngExt;
use rand::rngs::StdRng;

use crate::statistics::words::*;

const ID: &str = "viewers";
const GENERATIONS: u32 = 3;
const KINDS: u32 = 2;
const OIDS: u32 = 3;

/// By generation and key.
pub struct Numbers(BTreeMap<(u32, CounterKey), i64>);

impl Numbers {
    pub fn new() -> Self {
        let oids = |(generation, kind): (u32, u32)| (0..OIDS).map(move |oid| (generation, kind, oid));
        let all = (0..GENERATIONS).flat_map(|generation| (0..KINDS).map(move |kind| (generation, kind))).flat_map(oids);
        let number =
            |(generation, kind, oid): (u32, u32, u32)| ((generation, key(&[&kind.to_string(), &oid.to_string()])), 0);
        Numbers(all.map(number).collect())
    }

    /// Some amounts, which are expected from now on.
    pub fn some(&mut self, dice: &mut StdRng) -> Vec<(SumKey, Sum)> {
        let mut sums = Vec::new();
        for ((generation, key), number) in &mut self.0 {
            if dice.random_bool(0.2) {
                let by = dice.random_range(-3..=3);
                let parts: Vec<_> = key.parts().collect();
                sums.push(counter(*generation, ID, &parts.iter().map(|part| &**part).collect::<Vec<_>>(), by));
                *number += by;
            }
        }
        sums
    }

    pub fn compare(&self, store: &impl CounterStatistics, seed: u64) {
        let id: CounterId = ID.parse().unwrap();
        for generation in 0..GENERATIONS {
            let of_generation = self.0.iter().filter(|((of, _), _)| *of == generation);
            let (keys, numbers): (Vec<_>, Vec<i64>) = of_generation.map(|((_, key), by)| (key.clone(), *by)).unzip();
            let values = || wait(store.counter_values(generation, id.clone(), keys.clone()));
            assert_eq!(answered("numbers are read", values), numbers, "seed {seed}, generation {generation}");

            let mut counted: Vec<_> = keys.iter().cloned().zip(numbers).filter(|(_, number)| *number != 0).collect();
            let page = || wait(store.counter_page(generation, id.clone(), None, self.0.len()));
            assert_eq!(answered("all are read", page), counted, "seed {seed}, generation {generation}");

            let kind = key(&["1"]);
            counted.retain(|(key, _)| key.begins_with(&kind));
            counted.sort_by_key(|(_, number)| Reverse(*number));
            counted.truncate(2);
            let top = || wait(store.counter_top(generation, id.clone(), kind.clone(), 2));
            assert_eq!(answered("the top is read", top), counted, "seed {seed}, generation {generation}");
        }
    }
}
