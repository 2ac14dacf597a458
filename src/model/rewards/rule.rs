//! What is rewarded.

use std::sync::Arc;
use std::time::Duration;

use siphasher::sip::SipHasher24;

use crate::model::ids::Content;

/// One reward a day, for each user who has watched enough.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardRule {
    /// Names the rule in events and on the wire: 1 to 32 lower-case letters, digits and hyphens.
    pub id: Arc<str>,
    pub per: Per,
    /// Kinds of content that count; none = all.
    pub kinds: Vec<u16>,
    /// What must have been watched; 0 = the first beat is enough.
    pub watched: Duration,
    pub memory: RuleMemory,
}

/// Of what there is one claim a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    User,
    /// One for each content that a user watches.
    Content,
}

/// How the gateway remembers who was rewarded today.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RuleMemory {
    /// Exact: a user who was not rewarded is never denied.
    Exact,
    /// In a bloom filter for so many claims a day, of which this share (0 to 1, both excluded) may be denied wrongly.
    Bloom { expected: u64, probability: f64 },
}

/// All rules of the process, in the order of the settings. At most [`Rules::MAX`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<RewardRule>,
    per_user: RuleSet,
    per_content: RuleSet,
    of_any_kind: RuleSet,
    /// The longest that one must have watched, milliseconds.
    longest_ms: u64,
}

/// Some of the [`Rules`], by their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleSet(u32);

impl RewardRule {
    pub const ID_BYTES_MAX: usize = 32;

    /// Whether a text can name a rule.
    pub fn is_id(text: &str) -> bool {
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=Self::ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(fits)
    }

    /// A rule's id in four bytes, for what is stored of each claim. The settings refuse two rules with one mark.
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

    /// Further than [`Rules::MAX`] are left out: the settings refuse them.
    pub fn new(mut rules: Vec<RewardRule>) -> Self {
        rules.truncate(Self::MAX);
        let those = |wanted: &dyn Fn(&RewardRule) -> bool| {
            rules.iter().enumerate().filter(|(_, rule)| wanted(rule)).map(|(place, _)| place).collect()
        };
        Rules {
            per_user: those(&|rule| rule.per == Per::User),
            per_content: those(&|rule| rule.per == Per::Content),
            of_any_kind: those(&|rule| rule.kinds.is_empty()),
            longest_ms: rules.iter().map(RewardRule::watched_ms).max().unwrap_or(0),
            rules,
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (usize, &RewardRule)> {
        self.rules.iter().enumerate()
    }

    pub fn get(&self, place: usize) -> &RewardRule {
        &self.rules[place]
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn count(&self) -> usize {
        self.rules.len()
    }

    pub fn place(&self, id: &str) -> Option<usize> {
        self.rules.iter().position(|rule| &*rule.id == id)
    }

    pub fn which(&self, wanted: impl Fn(&RewardRule) -> bool) -> RuleSet {
        self.iter().filter(|(_, rule)| wanted(rule)).map(|(place, _)| place).collect()
    }

    /// Those of `some` for which this content counts. Mostly every kind does, and no rule is looked at.
    pub fn for_content(&self, some: RuleSet, content: Content) -> RuleSet {
        let choosy = some.without(self.of_any_kind);
        let chosen = choosy.iter().filter(|place| self.get(*place).is_for(content)).collect();
        some.and(self.of_any_kind).or(chosen)
    }

    /// Those of `some` that may have been earned with so many milliseconds watched in a session. Mostly all are.
    fn within(&self, some: RuleSet, watched_ms: u64) -> RuleSet {
        match watched_ms >= self.longest_ms {
            true => some,
            false => some.iter().filter(|place| self.get(*place).watched_ms() <= watched_ms).collect(),
        }
    }

    /// Those of `some` that may still apply to a beat of this content, in whose session so many milliseconds were
    /// watched.
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

    pub fn contains(self, place: usize) -> bool {
        self.0 & (1 << place) != 0
    }

    pub fn insert(&mut self, place: usize) {
        self.0 |= 1 << place;
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

    /// Whether all of the `other` are among these.
    pub fn covers(self, other: RuleSet) -> bool {
        other.without(self).is_empty()
    }

    /// Their places, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            let place = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
            rest &= rest - 1;
            Some(place)
        })
    }
}

impl FromIterator<usize> for RuleSet {
    fn from_iter<I: IntoIterator<Item = usize>>(places: I) -> Self {
        let mut set = RuleSet::NONE;
        places.into_iter().for_each(|place| set.insert(place));
        set
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_wants_more_than_was_watched_is_left_out() {
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
