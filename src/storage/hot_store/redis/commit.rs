//! Sends a group and puts the answers together.
//!
//! ```text
//! group → its changes by shard, each shard's in their order → calls, all in one go → outcomes in the group's order
//! ```
//!
//! When the outbox has less room than the group may claim, who gets it goes by the order of the group: then the calls go
//! one after the other, each with what the former has left, until there is no room.

use std::mem;

use ::redis::Value;

use super::answer::{self, Answered};
use super::bytes::Malformed;
use super::request::{Prepared, Request};
use super::{Shared, joined, scripts, value};
use crate::model::change::Change;
use crate::model::moment::Moment;
use crate::storage::hot_store::{Committed, Group, StoreError};
use crate::storage::redis::Call;

impl Shared {
    pub async fn commit(&self, group: &Group) -> Result<Committed, StoreError> {
        self.calendar.keep(&self.redis, &group.rewards).await?;
        let mut round = Round::new(self, group);
        let mut waiting: Vec<Prepared> =
            group.changes.iter().enumerate().map(|(place, change)| round.request.change(place, change)).collect();
        let mut asks: u64 = waiting.iter().map(|change| change.asks).sum();
        let mut room = group.rewards.claims_max;
        // No other group may come in between, for the sake of users who have changes in both.
        let (_shared, _alone) = if room == 0 || asks <= room {
            (Some(self.turns.read().await), None)
        } else {
            (None, Some(self.turns.write().await))
        };
        while 0 < room && room < asks {
            let shard = waiting[0].shard;
            let end = waiting.iter().position(|change| change.shard != shard).unwrap_or(waiting.len());
            let run: Vec<Prepared> = waiting.drain(..end).collect();
            asks -= run.iter().map(|change| change.asks).sum::<u64>();
            room -= round.send(run, room).await?;
        }
        round.send(waiting, room).await?;
        Ok(round.committed()?)
    }

    /// Whether gateways beside this one follow the user.
    fn is_elsewhere(&self, change: &Change, answered: &Answered) -> bool {
        answered.followers > 0 && answered.followers > u8::from((self.follows)(change.user))
    }
}

struct Round<'g> {
    shared: &'g Shared,
    group: &'g Group,
    moment: Moment,
    request: Request<'g>,
    /// By the places of the changes.
    answered: Vec<Option<Answered>>,
}

impl<'g> Round<'g> {
    fn new(shared: &'g Shared, group: &'g Group) -> Self {
        let horizon = group.now.saturating_sub(shared.settings.retention_ms);
        let moment = Moment { now: group.now, horizon, day: group.rewards.today.day };
        Round {
            shared,
            group,
            moment,
            request: Request::new(group, moment, &shared.settings, shared.redis.deployment()),
            answered: group.changes.iter().map(|_| None).collect(),
        }
    }

    /// Sends these changes, of which as many claims may be made; returns how many were.
    async fn send(&mut self, mut changes: Vec<Prepared>, claims_max: u64) -> Result<u64, StoreError> {
        if changes.is_empty() {
            return Ok(0);
        }
        // Within a shard they stay in their order.
        changes.sort_by_key(|change| change.shard);
        let (mut calls, mut places) = (Vec::new(), Vec::new());
        for of_call in joined::split(&self.shared.redis, &mut changes, |change| change.shard, |change| change.rows) {
            places.push(of_call.iter().map(|change| change.place).collect::<Vec<_>>());
            calls.push(self.call(of_call, claims_max));
        }
        let answers = self.shared.redis.run(&scripts::COMMIT, calls).await?;
        for (places, answers) in places.iter().zip(answers) {
            let mut answers = value::array(answers)?;
            let followers = value::bytes(answers.pop().unwrap_or(Value::Nil))?;
            for ((place, answer), followers) in places.iter().zip(answers).zip(followers) {
                let change = &self.group.changes[*place];
                let answered = answer::read(change, *place, &self.moment, &value::bytes(answer)?, followers)?;
                self.answered[*place] = Some(answered);
            }
        }
        let mut places = places.concat();
        places.sort_unstable();
        Ok(self.notice(&places))
    }

    /// Takes the bytes of these changes along.
    fn call(&self, changes: &mut [Prepared], claims_max: u64) -> Call {
        let (shards, counts) = joined::shards(changes, |change| change.shard);
        let asks = changes.iter().any(|change| change.asks > 0);
        let mut args = Vec::with_capacity(4 + changes.len());
        args.push(self.shared.redis.deployment().as_bytes().to_vec());
        args.push(self.request.head(claims_max));
        args.push(if asks { self.request.rules() } else { Vec::new() });
        args.push(counts);
        args.extend(changes.iter_mut().map(|change| mem::take(&mut change.bytes)));
        Call { shards, args }
    }

    /// Takes notice of what these changes have come to, in their order; returns how many claims were made.
    fn notice(&self, places: &[usize]) -> u64 {
        let mut claims = 0;
        for place in places {
            let (change, Some(answered)) = (&self.group.changes[*place], &self.answered[*place]) else { continue };
            for decided in answered.decided.iter().filter(|decided| decided.first) {
                if let Some(claim) = self.request.claim_of(change, decided.rule) {
                    self.shared.outbox.made(claim);
                    claims += 1;
                }
            }
            if let Some(kept) = answered.sweep {
                self.shared.sweeper.sweep(self.shared.redis.clone(), change.user, kept, self.request.head(0));
            }
        }
        claims
    }

    fn committed(self) -> Result<Committed, Malformed> {
        let mut committed = Committed::default();
        for (place, (change, answered)) in self.group.changes.iter().zip(self.answered).enumerate() {
            let answered = answered.ok_or(Malformed("what has become of a change"))?;
            if self.shared.is_elsewhere(change, &answered) {
                committed.elsewhere.push(place);
            }
            committed.outcomes.push(answered.outcome);
            committed.decided.extend(answered.decided);
        }
        Ok(committed)
    }
}
