//! The users and contents with claims, for one rule, one shard and one day.

use bloomfilter::Bloom;

use super::estimate::Estimate;
use model::ids::{Content, UserId};

/// A bloom filter that knows when it is full.
///
/// Every marked pair of user and content is known. An unmarked pair is taken for known with the configured probability
/// at most: a filter that would exceed its items is dropped, and then only the store's exact keys answer.
#[derive(Default)]
pub struct Filter {
    /// Boxed, since most rules have no filter, and every shard has a slot for each rule.
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

/// Each filter has its own seed. So a wrong denial of today is not repeated tomorrow, and a content that passes one
/// filter tells nothing about another filter.
fn made(estimate: &Estimate) -> Bloom<(UserId, Content)> {
    let (bytes, items) = (estimate.bits_per_shard / 8, estimate.items_per_shard);
    let bloom = Bloom::new_with_seed(bytes as usize, items as usize, &rand::random());
    bloom.expect("a size and a seed that are given")
}

#[cfg(test)]
#[path = "filter_tests.rs"]
mod tests;
