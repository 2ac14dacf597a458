//! The duties of a client: one rule for each thing that can be seen on the wire.

/// A rule, which belongs to the scenario that can break it.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable: clients name it in `--only` and `--skip`.
    pub name: &'static str,
    /// Where it is explained, as a link below `docs/`.
    pub section: &'static str,
    pub text: &'static str,
}

/// The result of checking a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed(Fault),
    /// Why not.
    NotTried(String),
}

/// An action of a client, and the one that was expected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub expected: String,
    pub seen: String,
}

impl Fault {
    pub fn new(expected: impl Into<String>, seen: impl Into<String>) -> Self {
        Fault { expected: expected.into(), seen: seen.into() }
    }
}

impl Verdict {
    /// Adds the verdict of another scenario on the same rule: a fault stays.
    pub fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::Failed(fault), _) | (_, Verdict::Failed(fault)) => Verdict::Failed(fault),
            (Verdict::Passed, _) | (_, Verdict::Passed) => Verdict::Passed,
            (reason, _) => reason,
        }
    }
}

impl From<Result<(), Fault>> for Verdict {
    fn from(result: Result<(), Fault>) -> Self {
        match result {
            Ok(()) => Verdict::Passed,
            Err(fault) => Verdict::Failed(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_stays_and_a_pass_outweighs_what_was_not_tried() {
        let failed = Verdict::Failed(Fault::new("a", "b"));
        let not_tried = Verdict::NotTried("no socket".into());
        assert_eq!(Verdict::Passed.and(failed.clone()), failed);
        assert_eq!(failed.clone().and(Verdict::Passed), failed);
        assert_eq!(not_tried.clone().and(Verdict::Passed), Verdict::Passed);
        assert_eq!(not_tried.clone().and(not_tried.clone()), not_tried);
    }
}
