//! Problems of the settings.

use std::fmt;

/// Settings that cannot be used. Shows the first problem, and how to see the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", first(.problems))]
pub struct ConfigError {
    /// All that was found, in the order of the layers.
    pub problems: Vec<Problem>,
}

/// One problem, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A setting (`limits.beats`), an environment variable, or a file and what is in it.
    pub place: String,
    pub message: String,
}

impl Problem {
    pub(super) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Problem { place: place.into(), message: message.into() }
    }
}

impl From<Problem> for ConfigError {
    fn from(problem: Problem) -> Self {
        ConfigError { problems: vec![problem] }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

fn first(problems: &[Problem]) -> String {
    let first = problems.first().map(Problem::to_string).unwrap_or_default();
    match problems.len() {
        0 | 1 => first,
        several => format!("{first} (and {} more: see heartline check-config)", several - 1),
    }
}
