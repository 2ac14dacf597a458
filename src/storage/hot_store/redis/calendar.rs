//! The newest day on which anything was committed, for who opens the store next.

use std::sync::{Mutex, PoisonError};

use ::redis::pipe;

use super::{checked, keys, scripts, value};
use crate::model::rewards::calendar::StoredCalendar;
use crate::model::rewards::day::Day;
use crate::storage::hot_store::{CLAIM_DAYS, Rewarding, StoreError};
use crate::storage::redis::{Call, Redis};

/// It is stored before the first commit of its day.
pub struct StoreCalendar {
    /// The newest that is known to be stored.
    newest: Mutex<Option<Day>>,
}

impl StoreCalendar {
    /// Also what was stored, if anything was.
    pub async fn read(redis: &Redis) -> Result<(Self, Option<StoredCalendar>), StoreError> {
        let mut commands = pipe();
        commands.hgetall(keys::Keys::of(keys::COMMON).calendar());
        let answer = checked::ask(redis, keys::COMMON, commands).await?.swap_remove(0);
        let stored = parse(value::texts(answer)?);
        let newest = Mutex::new(stored.as_ref().map(|stored| stored.day));
        Ok((StoreCalendar { newest }, stored))
    }

    /// Stores the group's day unless that or a newer one is stored. A day once stored stays as it is: another gateway's
    /// settings may be newer, and hold from the next day on.
    pub async fn keep(&self, redis: &Redis, rewards: &Rewarding) -> Result<(), StoreError> {
        let Rewarding { rules, today, .. } = rewards;
        if *self.newest() >= Some(today.day) {
            return Ok(());
        }
        let ids: Vec<&str> = today.rules.iter().map(|place| &*rules.get(place).id).collect();
        let args = vec![
            redis.deployment().as_bytes().to_vec(),
            today.day.number().to_string().into_bytes(),
            today.zone.as_bytes().to_vec(),
            ids.join(" ").into_bytes(),
        ];
        redis.run(&scripts::CALENDAR, vec![Call::of(keys::COMMON, args)]).await?;
        let mut newest = self.newest();
        *newest = newest.max(Some(today.day));
        Ok(())
    }

    /// Whether claims of this day are still told of.
    pub fn keeps_claims_of(&self, day: Day) -> bool {
        self.newest().is_none_or(|newest| newest.number() < day.number().saturating_add(CLAIM_DAYS))
    }

    fn newest(&self) -> std::sync::MutexGuard<'_, Option<Day>> {
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Fields and values in turn. What somebody else has changed beyond recognition is as good as nothing: a day is stored
/// with the next commit.
fn parse(fields: Vec<String>) -> Option<StoredCalendar> {
    let field = |name: &str| fields.chunks_exact(2).find(|pair| pair[0] == name).map(|pair| pair[1].as_str());
    Some(StoredCalendar {
        day: Day::of_number(field("day")?.parse().ok()?),
        zone: field("zone")?.to_owned(),
        rules: field("rules")?.split_whitespace().map(str::to_owned).collect(),
    })
}
