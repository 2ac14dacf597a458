//! Reward rules.

use std::sync::Arc;
use std::time::Duration;

use siphasher::sip::SipHasher24;

use crate::ids::Content;

/// One reward a day, for each user who has watched enough.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardRule {
    /// Names the rule in events and on the wire: 1 to 32 lower-case letters, digits and hyphens.
    pub id: Arc<str>,
    pub per: Per,
    /// Kinds of content that count; none = all.
    pub kinds: Vec<u16>,
    /// The watch time needed; 0 = the first beat is enough.
    pub watched: Duration,
    pub memory: RuleMemory,
}

/// The scope of a claim: one a day per user, or per user and content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    User,
    /// One for each content that a user watches.
    Content,
}

/// How the gateway remembers the users who were rewarded today.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleMemory {
    /// Exact: a user who was not rewarded is never denied.
    Exact,
    /// A bloom filter for this many claims a day, with this false-positive rate (0 to 1, both excluded): a claim that it
    /// takes for a known one is denied.
    Bloom { expected: u64, probability: f64 },
}

/// All rules of the process, in the order of the settings. At most [`Rules::MAX`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<RewardRule>,
    per_user: RuleSet,
    per_content: RuleSet,
    of_any_kind: RuleSet,
    of_views: RuleSet,
    /// The longest watch time that a rule needs, milliseconds.
    longest_ms: u64,
}

/// A set of [`Rules`], by their indexes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u32);

impl RewardRule {
    pub const ID_BYTES_MAX: usize = 32;

    /// Whether a text can name a rule.
    pub fn is_id(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=Self::ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
    }

    /// A rule's id in four bytes, for each stored claim. The settings refuse two rules with the same mark.
    pub fn mark(id: &str) -> u32 {
        SipHasher24::new().hash(id.as_bytes()) as u32
    }

    pub fn is_for(&self, content: Content) -> bool {
        self.kinds.is_empty() || self.kinds.contains(&content.kind)
    }

    pub fn watched_ms(&self) -> u64 {
        self.watched.as_millis() as u64
    }
}

impl Rules {
    pub const MAX: usize = 32;

    /// Rules beyond [`Rules::MAX`] are left out: the settings refuse them.
    pub fn new(mut rules: Vec<RewardRule>) -> Self {
        rules.truncate(Self::MAX);
        let those = |wanted: &dyn Fn(&RewardRule) -> bool| {
            rules.iter().enumerate().filter(|(_, rule)| wanted(rule)).map(|(index, _)| index).collect()
        };
        Rules {
            per_user: those(&|rule| rule.per == Per::User),
            per_content: those(&|rule| rule.per == Per::Content),
            of_any_kind: those(&|rule| rule.kinds.is_empty()),
            of_views: those(&RewardRule::counts_views),
            longest_ms: rules.iter().map(RewardRule::watched_ms).max().unwrap_or(0),
            rules,
        }
    }

    /// These rules, with one more at the end.
    pub fn and(mut self, rule: Option<RewardRule>) -> Self {
        self.rules.extend(rule);
        Rules::new(self.rules)
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &RewardRule)> {
        self.rules.iter().enumerate()
    }

    /// The rules whose claims give rewards.
    pub fn rewards(&self) -> impl Iterator<Item = (usize, &RewardRule)> {
        self.iter().filter(|(index, _)| !self.counts_views(*index))
    }

    pub fn get(&self, index: usize) -> &RewardRule {
        &self.rules[index]
    }

    /// Whether the claims of this rule are views, and no rewards.
    pub fn counts_views(&self, index: usize) -> bool {
        self.of_views.contains(index)
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn count(&self) -> usize {
        self.rules.len()
    }

    pub fn index_of(&self, id: &str) -> Option<usize> {
        self.rules.iter().position(|rule| &*rule.id == id)
    }

    pub fn which(&self, wanted: impl Fn(&RewardRule) -> bool) -> RuleSet {
        self.iter().filter(|(_, rule)| wanted(rule)).map(|(index, _)| index).collect()
    }

    /// The rules of `some` for which this content counts. Most rules count for every kind, and need no check.
    pub fn for_content(&self, some: RuleSet, content: Content) -> RuleSet {
        let choosy = some.without(self.of_any_kind);
        let chosen = choosy.iter().filter(|index| self.get(*index).is_for(content)).collect();
        some.and(self.of_any_kind).or(chosen)
    }

    /// The rules of `some` that need no more than this watch time in a session, milliseconds. Mostly all do.
    fn within(&self, some: RuleSet, watched_ms: u64) -> RuleSet {
        match watched_ms >= self.longest_ms {
            true => some,
            false => some.iter().filter(|index| self.get(*index).watched_ms() <= watched_ms).collect(),
        }
    }

    /// The rules of `some` that may still apply to a beat of this content, with this watch time in its session,
    /// milliseconds.
    pub fn may_apply(&self, some: RuleSet, content: Content, watched_ms: u64) -> RuleSet {
        self.within(self.for_content(some, content), watched_ms)
    }

    pub fn all(&self) -> RuleSet {
        self.which(|_| true)
    }

    pub fn per(&self, per: Per) -> RuleSet {
        match per {
            Per::User => self.per_user,
            Per::Content => self.per_content,
        }
    }
}

impl RuleSet {
    pub const NONE: RuleSet = RuleSet(0);

    pub fn contains(self, index: usize) -> bool {
        self.0 & (1 << index) != 0
    }

    pub fn insert(&mut self, index: usize) {
        self.0 |= 1 << index;
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn and(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & other.0)
    }

    pub fn or(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 | other.0)
    }

    pub fn without(self, other: RuleSet) -> RuleSet {
        RuleSet(self.0 & !other.0)
    }

    /// Whether all rules of `other` are in this set.
    pub fn covers(self, other: RuleSet) -> bool {
        other.without(self).is_empty()
    }

    /// The indexes of the rules, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let index = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(index)
        })
    }
}

impl FromIterator<usize> for RuleSet {
    fn from_iter<I: IntoIterator<Item = usize>>(indexes: I) -> Self {
        let mut set = RuleSet::NONE;
        indexes.into_iter().for_each(|index| set.insert(index));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn rules_that_need_more_watch_time_are_left_out() {
        let rule = |seconds: u64| RewardRule {
            id: format!("after-{seconds}").into(),
            per: Per::User,
            kinds: Vec::new(),
            watched: Duration::from_secs(seconds),
            memory: RuleMemory::Exact,
        };
        let rules = Rules::new([10, 0, 5].map(rule).into());
        let within = |watched_ms| rules.within(rules.all(), watched_ms).iter().collect::<Vec<_>>();
        assert_eq!([within(0), within(4_999)], [[1], [1]]);
        assert_eq!([within(5_000), within(9_999)], [[1, 2], [1, 2]]);
        assert_eq!([within(10_000), within(u64::MAX)], [[0, 1, 2], [0, 1, 2]]);
        assert!(rules.within(RuleSet::NONE, 10_000).is_empty());
    }
}
