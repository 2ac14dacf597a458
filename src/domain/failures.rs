//! The current failures among several concurrent jobs: there is trouble while any of them fails, however many others
//! succeed.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// The failing jobs, each with the reason of its last failure.
pub struct Failures<K>(Mutex<BTreeMap<K, String>>);

/// The change of the overall state by an outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    Begins,
    Ends,
}

impl<K> Default for Failures<K> {
    fn default() -> Self {
        Failures(Mutex::default())
    }
}

impl<K: Ord> Failures<K> {
    pub fn failed(&self, what: K, why: String) -> Option<Trouble> {
        let mut failures = self.0.lock();
        let is_first = failures.is_empty();
        failures.insert(what, why);
        is_first.then_some(Trouble::Begins)
    }

    /// Ends the trouble if no other job fails.
    pub fn succeeded(&self, what: &K) -> Option<Trouble> {
        let mut failures = self.0.lock();
        let was_last = failures.remove(what).is_some() && failures.is_empty();
        was_last.then_some(Trouble::Ends)
    }

    /// Why one of the jobs fails; `None`: none fails.
    pub fn reason(&self) -> Option<String> {
        self.0.lock().values().next().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_lasts_from_the_first_failure_until_every_failed_item_has_succeeded() {
        let failures = Failures::default();
        assert_eq!((failures.succeeded(&1), failures.reason()), (None, None));
        assert_eq!(failures.failed(1, "a".to_owned()), Some(Trouble::Begins));
        assert_eq!(failures.failed(2, "b".to_owned()), None);
        assert_eq!((failures.succeeded(&3), failures.succeeded(&1)), (None, None));
        assert_eq!(failures.failed(2, "c".to_owned()), None, "it is told once");
        assert_eq!(failures.reason().as_deref(), Some("c"));
        assert_eq!((failures.succeeded(&2), failures.reason()), (Some(Trouble::Ends), None));
    }
}
