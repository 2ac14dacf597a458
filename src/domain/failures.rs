//! What fails now, of several things that are done side by side: while one of them fails all are in trouble, however
//! many others succeed.

use std::collections::BTreeMap;

use parking_lot::Mutex;

/// By what is done, why it failed when it was done last.
pub struct Failures<K>(Mutex<BTreeMap<K, String>>);

/// What an outcome changes for all of them together.
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

    /// Also of what others do now.
    pub fn succeeded(&self, what: &K) -> Option<Trouble> {
        let mut failures = self.0.lock();
        let was_last = failures.remove(what).is_some() && failures.is_empty();
        was_last.then_some(Trouble::Ends)
    }

    /// Why one of them fails; `None`: none does.
    pub fn reason(&self) -> Option<String> {
        self.0.lock().values().next().cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_lasts_from_the_first_failure_until_none_fails_whatever_else_succeeds() {
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
