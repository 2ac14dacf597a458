//! Who has to go first when a user has too many contents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::forgetting::Eviction;
use crate::model::ids::Content;

pub const CANDIDATES_MAX: usize = 256;

/// The contents of a user that will have to go first. A row whose turn is later by now is noticed when it comes; one whose
/// turn is sooner has to be offered.
pub struct Candidates {
    heap: BinaryHeap<Reverse<(Eviction, Content)>>,
    /// No content that is not in the heap goes before this.
    bound: Eviction,
}

impl Candidates {
    /// Of all rows of the user, each with when it has to go.
    pub fn among(mut rows: Vec<(Eviction, Content)>) -> Self {
        let mut bound = Eviction::LAST;
        if rows.len() > CANDIDATES_MAX {
            bound = rows.select_nth_unstable(CANDIDATES_MAX).1.0;
            rows.truncate(CANDIDATES_MAX);
        }
        Candidates { heap: rows.into_iter().map(Reverse).collect(), bound }
    }

    pub fn offer(&mut self, eviction: Eviction, content: Content) {
        if eviction < self.bound {
            self.heap.push(Reverse((eviction, content)));
        }
    }

    pub fn first(&self) -> Option<(Eviction, Content)> {
        self.heap.peek().map(|Reverse(first)| *first)
    }

    pub fn drop_first(&mut self) {
        self.heap.pop();
    }
}
