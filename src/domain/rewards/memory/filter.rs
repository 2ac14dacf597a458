//! Which users have claimed which contents: one rule, one shard, one day.

use bloomfilter::Bloom;

use super::estimate::Estimate;
use crate::model::ids::{Content, UserId};

/// A bloom filter that knows when it has taken all it was made for.
///
/// Of what was marked it never says no. Of what was not it says yes with the configured probability at most: a filter
/// that would have to take more is dropped, and the store's exact keys answer alone.
#[derive(Default)]
pub struct Filter {
    /// Out of line, since most rules have none, and a shard has a place for each.
    bloom: Option<Box<Bloom<(UserId, Content)>>>,
    items: u64,
    full: bool,
}

impl Filter {
    pub fn mark(&mut self, user: UserId, content: Content, estimate: &Estimate) {
        if self.full {
            return;
        }
        let bloom = self.bloom.get_or_insert_with(|| Box::new(made(estimate)));
        self.items += u64::from(!bloom.check_and_set(&(user, content)));
        if self.items > estimate.items_per_shard {
            *self = Filter { bloom: None, items: 0, full: true };
        }
    }

    pub fn knows(&self, user: UserId, content: Content) -> bool {
        self.bloom.as_ref().is_some_and(|bloom| bloom.check(&(user, content)))
    }

    pub fn full(&self) -> bool {
        self.full
    }

    pub fn items(&self) -> u64 {
        self.items
    }

    pub fn bytes(&self) -> usize {
        self.bloom.as_ref().map_or(0, |bloom| bloom.as_slice().len())
    }
}

/// Each has a seed of its own. A user who is denied wrongly today is not denied the same tomorrow, and contents that
/// pass another filter cannot be searched for.
fn made(estimate: &Estimate) -> Bloom<(UserId, Content)> {
    let (bytes, items) = (estimate.bits_per_shard / 8, estimate.items_per_shard);
    let bloom = Bloom::new_with_seed(bytes as usize, items as usize, &rand::random());
    bloom.expect("a size and a seed that are given")
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
