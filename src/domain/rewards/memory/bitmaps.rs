//! The users with claims by rules per user, for one shard and one day.

use roaring::RoaringTreemap;

use model::ids::UserId;
use model::rewards::rule::RuleSet;

/// A set of mids for each rule, exact.
#[derive(Default)]
pub struct Bitmaps {
    /// By the indexes of the rules; created at the first claim.
    of_rules: Vec<RoaringTreemap>,
    claims: usize,
    /// Some claims were left out, since the bitmaps were full.
    full: bool,
}

impl Bitmaps {
    /// Remembers a claim while there are fewer than `claims_max`.
    pub fn mark(&mut self, index: usize, user: UserId, claims_max: usize) {
        if self.claims >= claims_max {
            self.full |= !self.contains(index, user);
            return;
        }
        if self.of_rules.len() <= index {
            self.of_rules.resize_with(index + 1, RoaringTreemap::new);
        }
        self.claims += usize::from(self.of_rules[index].insert(user.0));
    }

    pub fn decided(&self, user: UserId) -> RuleSet {
        (0..self.of_rules.len()).filter(|index| self.contains(*index, user)).collect()
    }

    /// Whether a user without a mark certainly has no claim.
    pub fn whole(&self) -> bool {
        !self.full
    }

    pub fn forget(&mut self, user: UserId) {
        self.claims -= self.of_rules.iter_mut().filter_map(|rule| rule.remove(user.0).then_some(())).count();
    }

    /// The number of claims remembered of one rule.
    pub fn len(&self, index: usize) -> u64 {
        self.of_rules.get(index).map_or(0, RoaringTreemap::len)
    }

    fn contains(&self, index: usize, user: UserId) -> bool {
        self.of_rules.get(index).is_some_and(|rule| rule.contains(user.0))
    }
}
