//! A group as arguments of the script: what it decides by, the rules, and each change.

use super::bytes::{MOMENT_MAX, put, put_short, put_trimmed};
use super::filter::{Filter, Places};
use super::{Settings, joined, keys, row};
use crate::model::beat::Beat;
use crate::model::change::{Action, Change, When};
use crate::model::ids::UserId;
use crate::model::moment::Moment;
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::credit::{AGE_MS_MAX, Credit};
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::{Per, RuleSet, Rules};
use crate::model::shard::{Shard, Shards};
use crate::storage::hot_store::{CLAIM_DAYS, Group};
use crate::storage::outbox::codec;

const DAY_MS: u64 = 86_400_000;
/// Longer than the retention keys are kept: they are refreshed once a day and content, so it must be more than a day.
const KEPT_BEYOND_MS: u64 = 2 * DAY_MS;
/// A day of the rewards may last longer than a day of the clock.
const CLAIMS_MS: u64 = (CLAIM_DAYS as u64 + 1) * DAY_MS;

/// One change, ready to be sent.
pub struct Prepared {
    /// Its place in the group.
    pub place: usize,
    pub shard: Shard,
    pub bytes: Vec<u8>,
    /// Claims it may make.
    pub asks: u64,
    /// Rows that it may touch.
    pub rows: usize,
}

pub struct Request<'g> {
    group: &'g Group,
    moment: Moment,
    settings: &'g Settings,
    /// By the places of the rules.
    filters: Vec<Option<(Filter, Places)>>,
}

impl<'g> Request<'g> {
    pub fn new(group: &'g Group, moment: Moment, settings: &'g Settings, deployment: &str) -> Self {
        let day = moment.day;
        let places = |filter: Filter, id: &str| (filter, filter.places(deployment, day, id));
        let rules = group.rewards.rules.iter();
        let filters =
            rules.map(|(_, rule)| Filter::of(rule, Shards::DEFAULT).map(|filter| places(filter, &rule.id))).collect();
        Request { group, moment, settings, filters }
    }

    /// By what is decided; `claims_max`: so many claims this call may make.
    pub fn head(&self, claims_max: u64) -> Vec<u8> {
        let Moment { now, horizon, day } = self.moment;
        let retention = self.settings.retention_ms;
        let mut head = Vec::with_capacity(48);
        put::<6>(&mut head, now);
        put::<6>(&mut head, horizon);
        put::<2>(&mut head, day.number().into());
        head.extend_from_slice(day.to_string().as_bytes());
        put::<4>(&mut head, self.settings.records_per_user.get().into());
        put::<6>(&mut head, retention.saturating_add(KEPT_BEYOND_MS).min((1 << 48) - 1));
        put::<6>(&mut head, CLAIMS_MS);
        put::<4>(&mut head, claims_max.min(u32::MAX.into()));
        put::<4>(&mut head, self.settings.outbox_per_shard().min(u32::MAX.into()));
        head
    }

    /// All rules, by their places.
    pub fn rules(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (place, rule) in self.group.rewards.rules.iter() {
            let filter = self.filters[place].as_ref().map(|(filter, _)| filter);
            bytes.push(match (rule.per, filter) {
                (Per::User, _) => 0,
                (Per::Content, None) => 1,
                (Per::Content, Some(_)) => 2,
            });
            // Nobody has watched so much.
            put::<7>(&mut bytes, rule.watched_ms().min(1 << 53));
            put::<4>(&mut bytes, filter.map_or(0, |filter| filter.items).into());
            put_short(&mut bytes, rule.id.as_bytes());
            put_short(&mut bytes, &codec::rule_part(&rule.id, rule.per == Per::Content));
        }
        bytes
    }

    pub fn change(&self, place: usize, change: &Change) -> Prepared {
        let shard = keys::shard_of(change.user);
        let (bytes, asks) = match &change.action {
            Action::Beat { beat, device, asks } => {
                let asks = self.asked(beat, *asks);
                (self.beat(change.user, beat, device, asks), asks.iter().count() as u64)
            }
            Action::Delete { contents, at } => {
                let mut bytes = begun(b'D', change.user);
                put_when(&mut bytes, *at);
                put::<4>(&mut bytes, contents.len() as u64);
                contents.iter().for_each(|content| bytes.extend_from_slice(&keys::content(*content)));
                (bytes, 0)
            }
            Action::Clear { at } => {
                let mut bytes = begun(b'C', change.user);
                put_when(&mut bytes, *at);
                (bytes, 0)
            }
            Action::Recording { paused, at } => {
                let mut bytes = begun(b'R', change.user);
                put_when(&mut bytes, *at);
                bytes.push(u8::from(*paused));
                (bytes, 0)
            }
            Action::Erase => (self.erase(change.user), 0),
        };
        Prepared { place, shard, bytes, asks, rows: rows(&change.action) }
    }

    /// Those rules of today that are asked for and concern the beat.
    fn asked(&self, beat: &Beat, asks: RuleSet) -> RuleSet {
        let fresh = self.group.now.saturating_sub(beat.at) <= AGE_MS_MAX;
        let today = if fresh { asks.and(self.group.rewards.today.rules) } else { RuleSet::NONE };
        self.group.rewards.rules.for_content(today, beat.content)
    }

    fn beat(&self, user: UserId, beat: &Beat, device: &str, asks: RuleSet) -> Vec<u8> {
        let at = beat.at.min(MOMENT_MAX);
        let mut bytes = begun(b'B', user);
        bytes.extend_from_slice(&keys::content(beat.content));
        put_short(&mut bytes, at.to_string().as_bytes());
        put_long(&mut bytes, &self.asks(user, beat, device, asks));
        let begins = Credit::of(beat, None, &self.moment);
        row::put(&mut bytes, &Record::of(&Beat { at, ..*beat }, device.into(), 0, begins));
        bytes
    }

    /// Nothing, if nothing is asked for.
    fn asks(&self, user: UserId, beat: &Beat, device: &str, asks: RuleSet) -> Vec<u8> {
        let mut bytes = Vec::new();
        if asks.is_empty() {
            return bytes;
        }
        bytes.push(asks.iter().count() as u8);
        put_trimmed(&mut bytes, beat.watched);
        put_short(&mut bytes, keys::claimant(user).as_bytes());
        // Of whatever rule: which it is stands in the part of the rule.
        let key = ClaimKey { rule: "".into(), day: self.moment.day, user, content: None };
        put_long(&mut bytes, &codec::beat_part(&self.claim(key, beat, device)));
        for place in asks.iter() {
            bytes.push(place as u8);
            let mut bits = Vec::new();
            if let Some((_, places)) = &self.filters[place] {
                places.of(user, beat.content).for_each(|bit| put::<4>(&mut bits, bit.into()));
            }
            put_short(&mut bytes, &bits);
        }
        bytes
    }

    /// The claim that a beat has made by the rule at `place`.
    pub fn claim_of(&self, change: &Change, place: usize) -> Option<Claim> {
        let Action::Beat { beat, device, .. } = &change.action else { return None };
        let rules: &Rules = &self.group.rewards.rules;
        let key = ClaimKey::of(rules.get(place), self.group.rewards.today.day, change.user, beat.content);
        Some(self.claim(key, beat, device))
    }

    fn claim(&self, key: ClaimKey, beat: &Beat, device: &str) -> Claim {
        Claim {
            key,
            content: beat.content,
            session: beat.session,
            device: device.into(),
            watched: beat.watched,
            claimed_at: self.group.now,
            zone: self.group.rewards.today.zone.clone(),
        }
    }

    fn erase(&self, user: UserId) -> Vec<u8> {
        let mut bytes = begun(b'E', user);
        put_short(&mut bytes, keys::claimant(user).as_bytes());
        // All that may still be there; another gateway may be a day ahead.
        let today = self.group.rewards.today.day.number();
        let days = today.saturating_sub(CLAIM_DAYS + 1)..=today.saturating_add(1);
        let days: String = days.map(|day| Day::of_number(day).to_string()).collect();
        put_short(&mut bytes, days.as_bytes());
        bytes
    }
}

/// What is left to do of a clear: `kept` rows are to be passed over.
pub fn sweep(user: UserId, kept: u32) -> Vec<u8> {
    let mut bytes = begun(b'S', user);
    put::<4>(&mut bytes, kept.into());
    bytes
}

fn rows(action: &Action) -> usize {
    match action {
        Action::Beat { .. } | Action::Recording { .. } => 1,
        Action::Delete { contents, .. } => contents.len(),
        // As many as there are, up to a step of the sweep.
        Action::Clear { .. } | Action::Erase => joined::TOGETHER_MAX,
    }
}

fn begun(letter: u8, user: UserId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(letter);
    put_short(&mut bytes, user.0.to_string().as_bytes());
    bytes
}

fn put_long(bytes: &mut Vec<u8>, text: &[u8]) {
    put::<4>(bytes, text.len() as u64);
    bytes.extend_from_slice(text);
}

fn put_when(bytes: &mut Vec<u8>, at: When) {
    let (asked, moment) = match at {
        When::At(at) => (0, at),
        When::Asked(asked) => (1, asked),
    };
    bytes.push(asked);
    put::<6>(bytes, moment.min(MOMENT_MAX));
}
