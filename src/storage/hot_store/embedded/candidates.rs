//! Who has to go first when a user has too many contents.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::ids::Content;

pub const CANDIDATES_MAX: usize = 256;

/// The contents of a user that will have to go first. A row that has become newer since is noticed when its turn comes.
pub struct Candidates {
    heap: BinaryHeap<Reverse<(u64, Content)>>,
    /// Every content that is not in the heap is at least as new.
    bound: u64,
}

impl Candidates {
    /// Of all rows of the user, each with the newest moment it is known by.
    pub fn among(mut rows: Vec<(u64, Content)>) -> Self {
        let mut bound = u64::MAX;
        if rows.len() > CANDIDATES_MAX {
            bound = rows.select_nth_unstable(CANDIDATES_MAX).1.0;
            rows.truncate(CANDIDATES_MAX);
        }
        Candidates { heap: rows.into_iter().map(Reverse).collect(), bound }
    }

    pub fn offer(&mut self, newest: u64, content: Content) {
        if newest < self.bound {
            self.heap.push(Reverse((newest, content)));
        }
    }

    pub fn first(&self) -> Option<(u64, Content)> {
        self.heap.peek().map(|Reverse(first)| *first)
    }

    pub fn drop_first(&mut self) {
        self.heap.pop();
    }
}
