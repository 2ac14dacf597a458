//! Who has earned what, and is the first.

use std::sync::Arc;

use super::draft::Draft;
use super::tables::ReadError;
use crate::model::beat::Beat;
use crate::model::change::Decided;
use crate::model::ids::UserId;
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::rule::RuleSet;
use crate::storage::hot_store::Rewarding;

/// Rewards the beats of one group.
pub struct Rewarder<'g> {
    pub now: u64,
    pub rewards: &'g Rewarding,
    /// In the order of the changes.
    pub decided: Vec<Decided>,
}

impl Rewarder<'_> {
    /// `beat` of this change was written as `after`. Makes the claims it has earned.
    pub fn reward(
        &mut self,
        draft: &mut Draft,
        change: usize,
        user: UserId,
        beat: &Beat,
        after: &Record,
        asks: RuleSet,
    ) -> Result<(), ReadError> {
        if asks.is_empty() {
            return Ok(());
        }
        let Some(earned) = after.credit.earned(beat, self.now) else { return Ok(()) };
        for place in asks.and(self.rewards.today.rules).iter() {
            let rule = self.rewards.rules.get(place);
            if earned < rule.watched_ms() || !rule.is_for(beat.content) {
                continue;
            }
            let key = ClaimKey::of(rule, self.rewards.today.day, user, after.content);
            let known = draft.claims.is_known(&key, &draft.view)?;
            if !known && draft.claims.count() >= self.rewards.claims_max {
                // Nothing is decided: it is asked again when there is room.
                continue;
            }
            if !known {
                draft.claims.make(self.claim(key, after));
            }
            self.decided.push(Decided { change, rule: place, first: !known });
        }
        Ok(())
    }

    fn claim(&self, key: ClaimKey, after: &Record) -> Claim {
        Claim {
            key,
            content: after.content,
            session: after.session,
            device: Arc::clone(&after.device),
            watched: after.watched,
            claimed_at: self.now,
            zone: Arc::clone(&self.rewards.today.zone),
        }
    }
}
