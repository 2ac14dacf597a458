//! The newest visits.

use std::collections::VecDeque;

use crate::ids::Content;
use crate::visitor::Visitor;

/// A session became live, or changed content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visit {
    /// The time of its beat, milliseconds.
    pub at: u64,
    pub content: Content,
    pub visitor: Visitor,
}

/// As many as are kept.
pub struct Visits {
    most: usize,
    /// The oldest first.
    kept: VecDeque<Visit>,
}

impl Visits {
    pub fn new(most: usize) -> Self {
        Visits { most, kept: VecDeque::new() }
    }

    pub fn push(&mut self, visit: Visit) {
        if self.kept.len() == self.most {
            self.kept.pop_front();
        }
        if self.most > 0 {
            self.kept.push_back(visit);
        }
    }

    pub fn newest_first(&self) -> Vec<Visit> {
        self.kept.iter().rev().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_visits_are_kept() {
        let mut visits = Visits::new(3);
        let visit = |at| Visit { at, content: Content { kind: 1, oid: at }, visitor: Visitor::default() };
        (0..10).for_each(|at| visits.push(visit(at)));
        assert_eq!(visits.newest_first(), [visit(9), visit(8), visit(7)]);
    }
}
