//! The newest day on which anything was committed, for the next gateway that opens the store; and the filters of a day.
//!
//! All gateways use the filters that the first gateway has made on a day. So settings that change during a day apply
//! from the next day on, and reward no content twice.

use std::collections::HashMap;
use std::sync::Arc;

use ::redis::{Value, pipe};
use parking_lot::{Mutex, MutexGuard};

use super::bytes::DecodeError;
use super::filter::{BitPositions, Filter};
use super::{claims, keys, scripts};
use crate::{Call, Redis, checked, value};
use model::rewards::calendar::StoredCalendar;
use model::rewards::claim::ClaimKey;
use model::rewards::day::Day;
use model::rewards::rewarding::Rewarding;
use model::rewards::rule::Per;
use model::shard::Shards;
use storage::hot_store::{CLAIM_DAYS, StoreError};

/// Stores the calendar of a day before the first commit of the day.
pub struct StoreCalendar {
    /// The salt of the hashes that place claims in filters.
    salt: String,
    today: Mutex<Today>,
}

#[derive(Default)]
struct Today {
    /// The newest day that is known to be stored.
    newest: Option<Day>,
    /// The filters of the last days with commits, by rule; a group may have begun before midnight.
    filters: Vec<(Day, HashMap<Arc<str>, BitPositions>)>,
}

/// Stored in place of a filter's measures if the rule has no filter on this day.
const EXACT: &str = "exact";
/// Days whose filters are kept in memory.
const FILTER_DAYS: usize = 2;

impl Today {
    fn filters_of(&self, day: Day) -> Option<&HashMap<Arc<str>, BitPositions>> {
        self.filters.iter().find(|(known, _)| *known == day).map(|(_, filters)| filters)
    }
}

impl StoreCalendar {
    /// Reads the stored calendar, and returns it, too, if there is one.
    pub async fn read(redis: &Redis) -> Result<(Self, Option<StoredCalendar>), StoreError> {
        let mut commands = pipe();
        commands.hgetall(keys::Keys::of(keys::COMMON).calendar());
        let answer = checked::ask(redis, keys::COMMON, commands).await?.swap_remove(0);
        let stored = parse(&value::texts(answer)?);
        let today = Today { newest: stored.as_ref().map(|stored| stored.day), ..Today::default() };
        Ok((StoreCalendar { salt: salt(redis), today: Mutex::new(today) }, stored))
    }

    /// Stores the group's day unless that or a newer one is stored. A stored day stays as it is: newer settings of
    /// another gateway apply from the next day on.
    pub async fn keep(&self, redis: &Redis, rewards: &Rewarding) -> Result<(), StoreError> {
        let Rewarding { rules, today, .. } = rewards;
        if self.today().filters_of(today.day).is_some() {
            return Ok(());
        }
        let of_settings = rules.iter().filter(|(_, rule)| rule.per == Per::Content).map(|(_, rule)| {
            let filter = Filter::of(rule, Shards::DEFAULT);
            (&*rule.id, filter.map_or_else(|| EXACT.to_owned(), |filter| filter.to_string()))
        });
        let of_settings: Vec<(&str, String)> = of_settings.collect();
        let measures = loop {
            let found = Found::read(redis, today.day).await?;
            if found.is_kept(redis, rewards, &of_settings).await? {
                break found.with(of_settings);
            }
        };
        let mut filters = HashMap::new();
        for (rule, measures) in measures.into_iter().filter(|(_, measures)| measures != EXACT) {
            let filter: Filter = measures.parse()?;
            let positions = filter.positions(&self.salt, today.day, &rule);
            filters.insert(Arc::from(rule), positions);
        }
        let mut kept = self.today();
        kept.newest = kept.newest.max(Some(today.day));
        // Another group of the day may have stored it by now.
        if kept.filters_of(today.day).is_none() {
            kept.filters.insert(0, (today.day, filters));
            kept.filters.truncate(FILTER_DAYS);
        }
        Ok(())
    }

    /// The bit positions of a claim in the filter of its rule; `None`: the rule has no filter.
    pub fn filter(&self, key: &ClaimKey) -> Option<BitPositions> {
        key.content?;
        self.today().filters_of(key.day)?.get(&key.rule).cloned()
    }

    /// Whether claims of this day are still kept.
    pub fn keeps_claims_of(&self, day: Day) -> bool {
        self.newest().is_none_or(|newest| newest.number() < day.number().saturating_add(CLAIM_DAYS))
    }

    pub fn newest(&self) -> Option<Day> {
        self.today().newest
    }

    fn today(&self) -> MutexGuard<'_, Today> {
        self.today.lock()
    }
}

/// The stored state at the first group of a new day.
struct Found {
    /// Fields and values in turn.
    calendar: Vec<String>,
    /// Measures, by rule.
    filters: HashMap<String, String>,
}

impl Found {
    async fn read(redis: &Redis, day: Day) -> Result<Self, StoreError> {
        let (names, mut commands) = (keys::Keys::of(keys::COMMON), pipe());
        commands.hgetall(names.calendar()).hgetall(names.filters(day));
        let answers = checked::ask(redis, keys::COMMON, commands).await?;
        let [calendar, filters] = answers.try_into().map_err(|_| DecodeError("an answer"))?;
        let filters = value::texts(filters)?.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
        Ok(Found { calendar: value::texts(calendar)?, filters })
    }

    /// Stores this day and the configured filters that are missing. False: another gateway has changed something in
    /// between, and nothing was stored.
    async fn is_kept(&self, redis: &Redis, rewards: &Rewarding, all: &[(&str, String)]) -> Result<bool, StoreError> {
        let day = rewards.today.day;
        let new: Vec<_> = all.iter().filter(|(rule, _)| !self.filters.contains_key(*rule)).collect();
        let moves = parse(&self.calendar).is_none_or(|stored| stored.gives_way_to(day));
        if new.is_empty() && !moves {
            return Ok(true);
        }
        let StoredCalendar { zone, rules, .. } = rewards.calendar();
        let mut args = vec![
            redis.deployment().to_string(),
            field(&self.calendar, "day").unwrap_or_default().to_owned(),
            if moves { day.number().to_string() } else { String::new() },
            zone,
            rules.join(" "),
            keys::Keys::of(keys::COMMON).filters(day),
            claims::CLAIMS_MS.to_string(),
        ];
        args.extend(new.into_iter().flat_map(|(rule, measures)| [(*rule).to_owned(), measures.clone()]));
        let args = args.into_iter().map(String::into_bytes).collect();
        let answers = redis.run(&scripts::CALENDAR, vec![Call::of(keys::COMMON, args)]).await?;
        Ok(answers == [Value::Int(1)])
    }

    /// The measures of all filters: the stored ones of the first gateway, and the configured ones for other rules.
    fn with(self, of_settings: Vec<(&str, String)>) -> HashMap<String, String> {
        let of_settings = of_settings.into_iter().map(|(rule, measures)| (rule.to_owned(), measures));
        of_settings.chain(self.filters).collect()
    }
}

fn field<'f>(fields: &'f [String], name: &str) -> Option<&'f str> {
    fields.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].as_str())
}

/// The salt of this deployment. It is derived and not stored: with another salt no claim in existing filters would be
/// found.
fn salt(redis: &Redis) -> String {
    let id = redis.deployment().split(' ').next().unwrap_or_default();
    format!("{id} format=1 shards=1000 hash=siphash-2-4")
}

/// Fields and values alternate. An unreadable value counts as missing: the next commit stores a day again.
fn parse(fields: &[String]) -> Option<StoredCalendar> {
    let field = |name| field(fields, name);
    Some(StoredCalendar {
        day: Day::of_number(field("day")?.parse().ok()?),
        zone: field("zone")?.to_owned(),
        rules: field("rules")?.split_whitespace().map(str::to_owned).collect(),
    })
}
