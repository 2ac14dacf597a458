//! Who has to go first when a user has too many contents.
//!
//! All of the user's rows are looked through once and the first [`CANDIDATES_MAX`] are remembered, so that a user at
//! the cap who opens one new content after the other does not hold up the commits of others.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::decide::DraftRow;
use crate::model::forgetting::Eviction;
use crate::model::ids::Content;

const CANDIDATES_MAX: usize = 256;

/// The contents of a user that will have to go first. A row whose turn is later by now is noticed when it comes; one
/// whose turn is sooner has to be offered.
pub struct Candidates {
    heap: BinaryHeap<Reverse<(Eviction, Content)>>,
    /// No content that is not in the heap goes before this.
    bound: Eviction,
    /// Those that the group has drafted: they are back once it is stored.
    drafted: Vec<(Eviction, Content)>,
}

impl Candidates {
    /// Of all rows of the user, each with when it has to go.
    pub fn among(rows: Vec<(Eviction, Content)>, is_drafted: impl Fn(Content) -> bool) -> Self {
        let (drafted, mut rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, content)| is_drafted(*content));
        let mut bound = Eviction::LAST;
        if rows.len() > CANDIDATES_MAX {
            bound = rows.select_nth_unstable(CANDIDATES_MAX).1.0;
            rows.truncate(CANDIDATES_MAX);
        }
        Candidates { heap: rows.into_iter().map(Reverse).collect(), bound, drafted }
    }

    pub fn offer(&mut self, eviction: Eviction, content: Content) {
        if eviction < self.bound {
            self.heap.push(Reverse((eviction, content)));
        }
    }

    /// The first that is not drafted.
    pub fn first(&mut self, is_drafted: impl Fn(Content) -> bool) -> Option<(Eviction, Content)> {
        loop {
            let Reverse(first) = *self.heap.peek()?;
            if !is_drafted(first.1) {
                return Some(first);
            }
            self.drafted.push(first);
            self.heap.pop();
        }
    }

    pub fn drop_first(&mut self) {
        self.heap.pop();
    }

    /// These rows of a draft are stored.
    pub fn stored(&mut self, rows: &[DraftRow]) {
        let drafted = std::mem::take(&mut self.drafted);
        drafted.into_iter().for_each(|(eviction, content)| self.offer(eviction, content));
        let is_sooner = |draft: &&DraftRow| !draft.is_stored || draft.row.record.is_none();
        let changed = rows.iter().filter(|draft| draft.changed && !draft.row.is_empty());
        changed.filter(is_sooner).for_each(|draft| self.offer(draft.row.eviction(), draft.content));
    }
}
