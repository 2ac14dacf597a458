//! Generations of derived counters.
//!
//! All counters have one generation, which begins with a count of all records. While the next one is counted, commits
//! change both; it is read when it is complete. The number of a generation is never used again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::deltas::{Definitions, Deltas};
use crate::transition::Transition;

/// Counters that were counted from scratch together, and are kept up to date by commits since.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Generation {
    pub number: u32,
    pub definitions: Definitions,
}

/// The generations that commits of one store add to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Generations {
    /// The one that is read; `None`: none is complete.
    pub current: Option<Arc<Generation>>,
    /// The one that is being counted.
    pub next: Option<Arc<Generation>>,
    /// The greatest number that was ever used.
    pub last: u32,
    /// Those whose numbers are to be removed.
    pub gone: Vec<u32>,
}

impl Generations {
    /// The one that a user without records belongs to; 0 = there is none.
    pub fn newest(&self) -> u32 {
        let newest = self.next.as_ref().or(self.current.as_ref());
        newest.map_or(0, |generation| generation.number)
    }

    /// Grows with every change. Generations of one order have the same pair.
    pub fn order(&self) -> (u32, u32) {
        (self.last, self.current.as_ref().map_or(0, |current| current.number))
    }

    /// The next generation is to be counted by these definitions. One that is being counted is given up.
    pub fn begin(&self, definitions: Definitions) -> Self {
        let last = self.last + 1;
        let next = Some(Arc::new(Generation { number: last, definitions }));
        let gone = self.gone.iter().copied().chain(number(&self.next)).collect();
        Generations { current: self.current.clone(), next, last, gone }
    }

    /// All records are counted in the next generation.
    pub fn complete(&self) -> Self {
        let gone = self.gone.iter().copied().chain(number(&self.current)).collect();
        Generations { current: self.next.clone(), next: None, last: self.last, gone }
    }

    /// Whether the newest generation counts exactly these.
    pub fn count(&self, wanted: &Definitions) -> bool {
        match self.next.as_ref().or(self.current.as_ref()) {
            None => wanted.counters.is_empty(),
            Some(newest) => wanted.are(&newest.definitions),
        }
    }

    /// `3,4`: by which stores compare them. Empty: there is none.
    pub fn pair(&self) -> String {
        match (number(&self.current), number(&self.next)) {
            (None, None) => String::new(),
            (Some(current), None) => current.to_string(),
            (None, Some(next)) => format!(",{next}"),
            (Some(current), Some(next)) => format!("{current},{next}"),
        }
    }

    /// The changes by a commit that leaves its user in generation `of_user`, with the numbers of the generations. A
    /// user whom the count of the next generation has not reached is counted there later.
    pub fn deltas<'t>(
        &self,
        of_user: u32,
        transitions: impl IntoIterator<Item = &'t Transition> + Clone,
    ) -> Vec<(u32, Deltas)> {
        let next = self.next.iter().filter(|next| next.number == of_user);
        let counted = self.current.iter().chain(next);
        let deltas = counted.map(|generation| (generation.number, generation.definitions.deltas(transitions.clone())));
        deltas.filter(|(_, deltas)| !deltas.is_empty()).collect()
    }
}

fn number(generation: &Option<Arc<Generation>>) -> Option<u32> {
    generation.as_ref().map(|generation| generation.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_names_both_generations() {
        let reading = serde_json::from_str(
            r#"{"resume_below":0.05,"resume_below_max":"0s","finished_at":0.9,"finished_remaining_max":"0s","overrides":[]}"#,
        );
        let definitions = Definitions { counters: Vec::new(), reading: reading.unwrap() };
        let generation = |number| Some(Arc::new(Generation { number, definitions: definitions.clone() }));
        let of = |current: Option<u32>, next: Option<u32>| Generations {
            current: current.and_then(generation),
            next: next.and_then(generation),
            last: 4,
            gone: Vec::new(),
        };
        let told = |current, next| (of(current, next).pair(), of(current, next).newest());
        assert_eq!(told(None, None), (String::new(), 0));
        assert_eq!(told(Some(3), None), ("3".to_owned(), 3));
        assert_eq!(told(None, Some(1)), (",1".to_owned(), 1));
        let again = of(Some(3), Some(4)).begin(definitions.clone());
        assert_eq!((again.pair(), again.gone.clone()), ("3,5".to_owned(), vec![4]));
        let complete = again.complete();
        assert_eq!((complete.pair(), complete.gone.clone()), ("5".to_owned(), vec![4, 3]));
        assert!(complete.order() > again.order());
        assert_eq!(told(Some(3), Some(4)), ("3,4".to_owned(), 4));
    }
}
